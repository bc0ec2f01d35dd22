#pragma once

// The attention of gpt-oss's local layers: the last w tokens, and a learned logit of each head that
// takes its share of the softmax and has no value.

#include <shiftgrad/shiftgrad.h>

namespace outside {

using namespace shiftgrad;

struct SinkAttention : Attention {
  Tensor sink;  // [H]
  SinkAttention(int64_t d_model, int64_t n_head, int64_t width, Random& random) {
    build("sink_attention", d_model, n_head, std::nullopt, true, random);
    sink = constant_parameter({n_head}, 0);
    window = width;
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    return {.query = heads.query, .key = heads.key, .value = heads.value, .sink = sink};
  }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("sink", sink);
  }
};

}  // namespace outside
