#include "core/io/fingerprint.h"

#include "core/errors.h"
#include "core/io/stored_numbers.h"

namespace shiftgrad {

namespace {
constexpr uint64_t start = 0xcbf29ce484222325, prime = 0x100000001b3;
}

uint64_t hash(std::span<const std::byte> bytes) {
  uint64_t result = start;
  for (std::byte byte : bytes) result = (result ^ static_cast<uint64_t>(byte)) * prime;
  return result;
}

Fingerprint fingerprint(std::span<const int32_t> text) {
  Fingerprint result{text.size(), start};
  for (int32_t token : text) result.hash = (result.hash ^ static_cast<uint32_t>(token)) * prime;
  return result;
}

StoredTensor stored(const Fingerprint& fingerprint) {
  return stored_numbers<uint64_t>({fingerprint.tokens, fingerprint.hash});
}

Fingerprint loaded_fingerprint(const std::string& name,
                               const std::map<std::string, StoredTensor>& tensors) {
  auto entry = tensors.find(name);
  require(entry != tensors.end(), "missing tensor \"", name, "\"");
  auto numbers = loaded_numbers<uint64_t>(name, entry->second, 2);
  return {numbers[0], numbers[1]};
}

}  // namespace shiftgrad
