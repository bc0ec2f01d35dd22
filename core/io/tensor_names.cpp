#include "core/io/tensor_names.h"

#include <algorithm>
#include <set>

#include "core/errors.h"
#include "core/io/json.h"

namespace shiftgrad {

namespace {

/// `"a", "b" and 7 more`
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t most = 4;
  std::string list;
  for (size_t n = 0; n < std::min(most, names.size()); ++n)
    list += (n > 0 ? ", " : "") + shown(names[n]);
  return names.size() <= most ? list : text(list, " and ", names.size() - most, " more");
}

}  // namespace

void check_names(const std::vector<std::string>& wanted,
                 const std::map<std::string, StoredTensor>& tensors) {
  std::set<std::string> names(wanted.begin(), wanted.end());
  std::vector<std::string> missing, unexpected;
  for (const std::string& name : wanted)
    if (!tensors.contains(name)) missing.push_back(name);
  for (const auto& [name, tensor] : tensors)
    if (!names.contains(name)) unexpected.push_back(name);
  if (missing.empty() && unexpected.empty()) return;
  fail(missing.empty() ? "" : "missing tensors " + listed(missing),
       missing.empty() || unexpected.empty() ? "" : "; ",
       unexpected.empty() ? "" : "unexpected tensors " + listed(unexpected));
}

}  // namespace shiftgrad
