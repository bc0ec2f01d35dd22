#include "kept_rows.h"

#include <algorithm>

namespace apps {

using shiftgrad::StoredTensor;

void keep_rows(const std::map<std::string, StoredTensor>& before,
               const std::function<size_t(size_t)>& place,
               std::map<std::string, StoredTensor>& after) {
  for (const auto& [name, from] : before) {
    StoredTensor& to = after.at(name);
    if (from.shape == to.shape) {
      to = from;
      continue;
    }
    auto rows = static_cast<size_t>(from.shape[0]);
    size_t size = from.bytes.size() / rows;
    std::vector<std::byte> bytes(to.bytes.begin(), to.bytes.end());
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(from.bytes.data() + row * size, size, bytes.data() + place(row) * size);
    to.bytes = std::move(bytes);
  }
}

}  // namespace apps
