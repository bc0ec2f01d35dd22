#include "optim/fingerprint.h"

namespace shiftgrad {

namespace {
constexpr uint64_t start = 0xcbf29ce484222325, prime = 0x100000001b3;
}

uint64_t hash(std::span<const std::byte> bytes) {
  uint64_t result = start;
  for (std::byte byte : bytes) result = (result ^ static_cast<uint64_t>(byte)) * prime;
  return result;
}

Fingerprint fingerprint(const KeptText& text) {
  Fingerprint result{static_cast<uint64_t>(text.size()), start, "tokens"};
  text.each(0, text.size(), [&](int32_t token) {
    result.hash = (result.hash ^ static_cast<uint32_t>(token)) * prime;
  });
  return result;
}

}  // namespace shiftgrad
