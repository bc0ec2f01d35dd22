#include "nn/models/stack.h"

#include <cmath>

#include "core/machine/simd.h"
#include "ops/arithmetic.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor Stack::with_positions(const Tensor& x, size_t block, int64_t first) const {
  if (block == 0 || !layer_positions.defined()) return x;
  Tensor table = select(layer_positions, 0, static_cast<int64_t>(block) - 1);  // [max_len, C]
  return x + slice(table, 0, first, first + x.size(1));
}

Tensor Stack::operator()(const Tokens& tokens, const Memory& memory, Caches* caches,
                         Context& context, std::vector<Tensor>* inputs) const {
  int64_t first = caches ? caches->position : memory.empty() ? 0 : memory[0].size(1);
  Tensor x = embedding(tokens, first, context);  // [B, T, C]
  for (size_t n = 0; n < blocks.size(); ++n) {
    if (inputs) inputs->push_back(x);
    Past past;
    if (caches) past = *caches->parts[n];
    if (!memory.empty()) past = with_positions(memory[n], n, 0);
    x = blocks[n]->forward(with_positions(x, n, first), past, context);
  }
  if (caches) caches->position += tokens.shape[1];
  return norm.weight.defined() ? norm(x) : x;
}

void Stack::make_caches(Caches& caches, int64_t limit) const {
  for (const auto& block : blocks) caches.parts.push_back(block->make_cache(limit));
}

void Stack::shrink_projections(Init values) {
  if (values.unfilled) return;
  for (const auto& block : blocks) {
    auto additions = static_cast<double>(block->parts.size() * blocks.size());
    auto factor = static_cast<Scalar>(1 / std::sqrt(additions));
    for (const Block::Part& part : block->parts)
      for (const Tensor& weight : part.function->residual_projections())
        simd::axpby(factor, weight.data(), 0, weight.mutable_data(), weight.count());
  }
}

Linear output_layer(const TokenEmbedding& embedding, bool tied, Init values) {
  Linear output;
  output.weight = tied ? embedding.weight : normal_parameter(embedding.weight.shape(), values);
  output.bias = constant_parameter({embedding.weight.size(0)}, 0, values);
  return output;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
