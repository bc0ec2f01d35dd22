#include "nn/local_rnn.h"

#include <cmath>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/caches.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The hidden states [B, s-1, C] of the windows that began 1 … s-1 tokens ago, oldest last.
struct LocalRnnCache : CacheOf<LocalRnnCache> {
  RecurrentState open;

  void forget_newest(int64_t count) override {
    require(count == 0, "cache: local_rnn cannot forget tokens, its windows have moved on");
  }
  void reorder(const std::vector<int64_t>& members) override {
    for (Tensor* part : {&open.h, &open.c}) *part = members_of(*part, members);
  }
};

}  // namespace

LocalRnn::LocalRnn(const LocalRnnConfig& local, Width width, Init init)
    : config(local), d_model(width.d_model) {
  name = config.type;
  check_fields(config.type, Sized{config, width});
  double reach = 1 / std::sqrt(static_cast<double>(d_model));
  Dims shape{gate_count(config.cell) * d_model, d_model};
  for (Linear* part : {&input, &hidden}) {
    part->weight = uniform_parameter(shape, init, reach);
    part->bias = uniform_parameter({shape[0]}, init, reach);
  }
}

Tensor LocalRnn::project(const Tensor& x) const {
  bool kept_apart = config.cell == RecurrentCell::gru;
  return linear(x, input.weight, kept_apart ? input.bias : input.bias + hidden.bias);
}

RecurrentState LocalRnn::step(const Tensor& projected, const RecurrentState& before) const {
  Dims shape = projected.shape();
  if (before.h.defined()) shape[1] = before.h.size(1);
  Tensor p = expand(projected, shape);  // [B, T, gC]
  // With h = 0, the product with weight_hh is left out.
  if (config.cell == RecurrentCell::gru) {
    Tensor u = before.h.defined() ? hidden(before.h) : expand(hidden.bias, shape);
    return recurrent_step(config.cell, p, u, before.h);
  }
  Tensor sums = before.h.defined() ? linear(before.h, hidden.weight, p) : p;
  return recurrent_step(config.cell, sums, {}, before.c);
}

Tensor LocalRnn::forward(const Tensor& x, const Past& past, Context& context) const {
  check_input(name, x, past.memory(), d_model);
  context.refuse_masks("local_rnn");
  if (auto* cache = past.cache<LocalRnnCache>()) return slide(x, cache->open);
  int64_t before = config.window - 1;
  Tensor zeros = Tensor::zeros({x.size(0), before, d_model});
  Tensor all = concat({zeros, past.memory(), x}, 1);  // [B, s - 1 + M + T, C]
  int64_t end = all.size(1);
  Tensor projected = project(slice(all, 1, end - before - x.size(1), end));  // [B, s - 1 + T, gC]
  Tensor bias = config.cell == RecurrentCell::gru ? hidden.bias : Tensor();
  return recurrent_windows(config.cell, projected, hidden.weight, bias,
                           config.window);  // [B, T, C]
}

std::unique_ptr<Cache> LocalRnn::make_cache(int64_t limit) const {
  if (limit < config.window - 1) return Layer::make_cache(limit);
  return new_cache<LocalRnnCache>();
}

Tensor LocalRnn::slide(const Tensor& x, RecurrentState& open) const {
  int64_t T = x.size(1);
  if (T == 0) return Tensor::empty({x.size(0), 0, d_model});
  if (!open.h.defined()) {
    // Windows that begin before the start have run over zero vectors.
    Tensor nothing = project(Tensor::zeros({x.size(0), 1, d_model}));  // [B, 1, gC]
    RecurrentState age;
    std::vector<Tensor> h, c;
    for (int64_t n = 1; n < config.window; ++n) {
      age = step(nothing, age);
      h.push_back(age.h);
      if (config.cell == RecurrentCell::lstm) c.push_back(age.c);
    }
    if (!h.empty()) open.h = concat(h, 1);
    if (!c.empty()) open.c = concat(c, 1);
  }
  std::vector<Tensor> outputs;
  Tensor projected = project(x);  // [B, T, gC]
  for (int64_t t = 0; t < T; ++t) {
    Tensor token = slice(projected, 1, t, t + 1);  // [B, 1, gC]
    RecurrentState fresh = step(token, {});        // [B, 1, C]
    if (config.window == 1) {
      outputs.push_back(fresh.h);
      continue;
    }
    RecurrentState moved = step(token, open);                                    // [B, s - 1, C]
    outputs.push_back(slice(moved.h, 1, config.window - 2, config.window - 1));  // [B, 1, C]
    open.h = concat({fresh.h, slice(moved.h, 1, 0, config.window - 2)}, 1);
    if (config.cell == RecurrentCell::lstm)
      open.c = concat({fresh.c, slice(moved.c, 1, 0, config.window - 2)}, 1);
  }
  return concat(outputs, 1);  // [B, T, C]
}

void LocalRnn::visit(Visitor& visitor) const {
  visitor("weight_ih", input.weight, Decay::yes);
  visitor("weight_hh", hidden.weight, Decay::yes);
  visitor("bias_ih", input.bias);
  visitor("bias_hh", hidden.bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
