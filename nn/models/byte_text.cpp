#include "nn/models/byte_text.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<int32_t> byte_tokens(std::string_view text) {
  auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string byte_text(const std::vector<int32_t>& tokens) { return {tokens.begin(), tokens.end()}; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
