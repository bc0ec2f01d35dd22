#include "tests/fuzz/mutator.h"

namespace fuzz {

std::string mutated_bytes(const std::string& bytes, size_t longest) {
  std::string result = bytes.substr(0, longest);
  size_t size = result.size();
  result.resize(longest);
  auto* data = reinterpret_cast<uint8_t*>(result.data());
  result.resize(LLVMFuzzerMutate(data, size, longest));
  return result;
}

}  // namespace fuzz
