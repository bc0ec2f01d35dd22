#include "nn/print.h"

#include <algorithm>
#include <string>

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::ostream& operator<<(std::ostream& out, const Module& module) {
  out << text("Module of ", parameter_count(module), " parameters");
  std::string before;
  for (const auto& [name, value, decay] : parameters(module)) {
    auto same =
        std::mismatch(name.begin(), name.end(), before.begin(), before.end()).first - name.begin();
    // A name's parts end at its dots; those that the line before has as well are not said again.
    for (size_t depth = 1, begin = 0, end = 0; end < name.size(); ++depth, begin = end + 1) {
      end = std::min(name.find('.', begin), name.size());
      if (static_cast<int64_t>(end) >= same)
        out << '\n' << std::string(2 * depth, ' ') << name.substr(begin, end - begin);
    }
    out << ' ' << value.shape();
    before = name;
  }
  return out;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
