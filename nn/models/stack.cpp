#include "nn/models/stack.h"

#include <algorithm>
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

Tensor Stack::run(const Tokens& tokens, int64_t first, const std::function<Past(size_t)>& past,
                  Context& context, std::vector<Tensor>* inputs) const {
  Tensor x = embedding(tokens, first, context);  // [B, T, C]
  for (size_t n = 0; n < blocks.size(); ++n) {
    if (inputs) inputs->push_back(x);
    Past earlier = past(n);
    x = blocks[n]->forward(with_positions(x, n, first), earlier, context);
  }
  return norm.weight.defined() ? norm(x) : x;
}

Tensor Stack::operator()(const Tokens& tokens, const Memory& memory, Context& context,
                         std::vector<Tensor>* inputs) const {
  auto past = [&](size_t n) { return memory.empty() ? Past() : with_positions(memory[n], n, 0); };
  return run(tokens, memory.empty() ? 0 : memory[0].size(1), past, context, inputs);
}

Tensor Stack::operator()(const Tokens& tokens, States& states, Context& context) const {
  auto past = [&](size_t n) { return Past(*states.parts[n]); };
  Tensor x = run(tokens, states.position, past, context, nullptr);
  states.position += tokens.shape[1];
  return x;
}

void Stack::start(States& states, int64_t limit) const {
  for (const auto& block : blocks) states.parts.push_back(block->start(limit));
}

void Stack::shrink_projections(Initial values) {
  if (values.unfilled) return;
  for (const auto& block : blocks) {
    auto additions = static_cast<double>(block->parts.size() * blocks.size());
    auto factor = static_cast<Scalar>(1 / std::sqrt(additions));
    for (const Tensor& weight : block->residual_projections())
      simd::axpby(factor, weight.data(), 0, weight.mutable_data(), weight.count());
  }
}

int64_t Stack::longest() const { return std::min(embedding.longest(), blocks.front()->longest()); }

int64_t Stack::most_keys() const { return std::min(longest(), blocks.front()->most_keys()); }

Linear output_layer(int64_t d_model, int64_t vocab_size, const Tensor& embedding, Initial values) {
  Linear output;
  output.weight = embedding.defined() ? embedding : normal_parameter({vocab_size, d_model}, values);
  output.bias = constant_parameter({vocab_size}, 0, values);
  return output;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
