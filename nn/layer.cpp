#include "nn/layer.h"

#include "core/checked.h"
#include "core/errors.h"
#include "nn/input_cache.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor Layer::operator()(const Tensor& x, const Past& past, Context& context) const {
  if (!past.cache()) return forward(x, past, context);
  return advance(*past.cache(), x, [&](Cache& next) { return step(x, next, context); });
}

Tensor Layer::step(const Tensor& x, const Past& past, Context& context) const {
  auto* inputs = dynamic_cast<InputCache*>(past.cache());
  if (!inputs) return forward(x, past, context);
  Tensor y = forward(x, inputs->memory(), context);
  inputs->append(x);
  return y;
}

std::unique_ptr<Cache> Layer::make_cache(int64_t limit) const {
  return make_input_cache(limit, unlimited);
}

std::unique_ptr<Cache> Layer::make_input_cache(int64_t limit, int64_t span) const {
  require(!sees_ahead(), name, ": a layer that sees later tokens cannot be fed in pieces");
  AtLeast{name.c_str()}(0, "limit", limit);
  return new_cache<InputCache>(limit, span);
}

Tensor Layer::operator()(const Tensor& x, Context& context) const {
  return forward(x, {}, context);
}

Tensor Layer::operator()(const Tensor& x) const {
  Context context;
  return forward(x, {}, context);
}

void check_input(std::string_view layer, const Tensor& x, const Tensor& memory, int64_t C) {
  require(x.defined(), layer, ": x is undefined, expected [B, T, ", C, "]");
  require(x.rank() == 3 && x.size(2) == C, layer, ": x ", x.shape(), ", expected [B, T, ", C, "]");
  if (!memory.defined()) return;
  bool fits = memory.rank() == 3 && memory.size(0) == x.size(0) && memory.size(2) == C;
  require(fits, layer, ": memory ", memory.shape(), " for x ", x.shape(), ", expected [", x.size(0),
          ", M, ", C, "]");
}

std::vector<NamedLayer> layers(const Module& module) {
  Visitor visitor(module);
  std::vector<NamedLayer> found;
  for (const auto& [name, part] : visitor.modules)
    if (auto* layer = dynamic_cast<const Layer*>(part)) found.push_back({name, *layer});
  return found;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
