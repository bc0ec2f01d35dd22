#include "tests/fuzz/mutator.h"

#include <algorithm>

namespace fuzz {

std::string mutated_bytes(const std::string& bytes, size_t longest) {
  std::string result = bytes.substr(0, longest);
  size_t size = result.size();
  result.resize(longest);
  auto* data = reinterpret_cast<uint8_t*>(result.data());
  result.resize(LLVMFuzzerMutate(data, size, longest));
  return result;
}

size_t put(const std::string& input, uint8_t* data, size_t longest) {
  size_t size = std::min(input.size(), longest);
  std::copy_n(input.begin(), size, data);
  return size;
}

}  // namespace fuzz
