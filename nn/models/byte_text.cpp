#include "nn/models/byte_text.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<int32_t> byte_tokens(const std::string& text) {
  auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string generate(const SequenceModel& model, const std::string& prompt,
                     const GenerateOptions& options) {
  std::vector<int32_t> tokens = generate(model, byte_tokens(prompt), options);
  return {tokens.begin(), tokens.end()};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
