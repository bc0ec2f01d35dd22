#include "field_flags.h"

#include <algorithm>

namespace apps {

namespace {

/// Returns "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (size_t n = 0; n < names.size(); ++n)
    list += (n == 0 ? "" : n + 1 < names.size() ? ", " : " and ") + names[n];
  return list;
}

}  // namespace

void FieldFlags::Flag::add(const std::string& kind, const Field& other, const std::string& usual) {
  std::string help = other.help + (usual.empty() ? " (default: none)" : usual);
  auto known = std::ranges::find_if(uses, [&](const auto& use) { return use.first == help; });
  if (known == uses.end()) known = uses.insert(known, {help, {}});
  known->second.push_back(kind);
  field.help.clear();
  for (const auto& [does, kinds] : uses)
    field.help += (field.help.empty() ? "" : "; ") + listed(kinds) + ": " + does;
  field.of.range.least = std::min(field.of.range.least, other.of.range.least);
  field.of.range.greatest = std::max(field.of.range.greatest, other.of.range.greatest);
}

bool FieldFlags::has(const std::string& name) const {
  auto found = flags_.find(name);
  return found != flags_.end() &&
         std::visit([](const auto& value) { return value.has_value(); }, found->second.value);
}

}  // namespace apps
