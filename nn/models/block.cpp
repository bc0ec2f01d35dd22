#include "nn/models/block.h"

#include <algorithm>

namespace shiftgrad::SHIFTGRAD_PRECISION {

Past Block::past_of(size_t part, const Past& past) const {
  if (auto* states = past.state<States>()) return *states->parts[part];
  const Tensor& memory = past.memory();
  if (part > 0 || !memory.defined()) return {};
  return norm_first ? parts[part].norm(memory) : memory;  // [B, M, C]
}

Tensor Block::forward(const Tensor& input, const Past& past, Context& context) const {
  check_input(name, input, past.memory(), parts.front().norm.weight.size(0));
  Tensor x = input;
  // The call of the block has cloned the states of all parts, so `forward` serves for them.
  for (size_t n = 0; n < parts.size(); ++n) {
    const auto& [part, function, norm_name, norm] = parts[n];
    Past own = past_of(n, past);
    Tensor y = function->forward(norm_first ? norm(x) : x, own, context);
    x = context.add_dropped(x, y, dropout);
    if (!norm_first) x = norm(x);
  }
  return x;
}

std::unique_ptr<State> Block::start(int64_t limit) const {
  auto state = new_state<States>();
  for (const Part& part : parts) state->parts.push_back(part.function->start(limit));
  return state;
}

int64_t Block::longest() const {
  int64_t least = unlimited;
  for (const Part& part : parts) least = std::min(least, part.function->longest());
  return least;
}

int64_t Block::most_keys() const {
  int64_t least = unlimited;
  for (const Part& part : parts) least = std::min(least, part.function->most_keys());
  return least;
}

std::vector<Tensor*> Block::position_biases() {
  std::vector<Tensor*> all;
  for (Part& part : parts)
    for (Tensor* bias : part.function->position_biases()) all.push_back(bias);
  return all;
}

std::vector<Tensor> Block::residual_projections() const {
  std::vector<Tensor> all;
  for (const Part& part : parts)
    for (const Tensor& weight : part.function->residual_projections()) all.push_back(weight);
  return all;
}

void Block::visit(Visitor& visitor) const {
  for (const auto& [part, function, norm_name, norm] : parts) {
    visitor(part, *function);
    visitor(norm_name, norm);
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
