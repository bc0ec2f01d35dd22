// Attention alone, forward and backward, with Transformer-XL's terms: the kernel, and right after
// it its twin from plain ops. Only the pairs that the causal rule leaves count as work, and no
// product that is made again:
//
//     flops = 3 · 3 · 2 · B H D · T (T + 1) / 2
//
// for the three products q·k, q·r, p·v, of which the backward pass makes two each.

#include "ops/attention.h"

#include <cmath>

#include "core/errors.h"
#include "core/random.h"
#include "core/tape.h"
#include "ops/shape.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

struct Sizes {
  int64_t B, H, T, D;
};

Tensor normal(const Dims& shape, Random& random) {
  Tensor x = Tensor::empty(shape);
  for (int64_t n = 0; n < x.count(); ++n)
    x.mutable_data()[n] = static_cast<Scalar>(random.normal());
  return x.require_gradient();
}

/// The equation of heads that a layer projected: q, k and v are interleaved in one storage.
RelativeAttention attention_of(const Tensor& qkv, const Sizes& c, Random& random) {
  Tensor heads = split_heads(qkv, 3 * c.H);  // [B, 3H, T, D]
  auto part = [&](int64_t n) { return slice(heads, 1, n * c.H, (n + 1) * c.H); };
  RelativeAttention a{.query = part(0), .key = part(1), .value = part(2)};
  a.content_bias = normal({c.H, c.D}, random);
  a.position_bias = normal({c.H, c.D}, random);
  a.position_rows = normal({c.T, c.H, c.D}, random);
  a.factor = static_cast<Scalar>(1 / std::sqrt(static_cast<double>(c.D)));
  a.visibility.sight.causal = true;
  return a;
}

template <class Op>
Case attention_case(const Sizes& c, const char* name, Op op) {
  auto run = [=](int runs) {
    Random random{.seed = 1};
    Tensor qkv = normal({c.B, c.T, 3 * c.H * c.D}, random);
    RelativeAttention a = attention_of(qkv, c, random);
    Tensor cotangent = Tensor::full({c.B, c.H, c.T, c.D}, 1);
    Result result = timed(runs, [&] {
      for (const Tensor* x : {&qkv, &a.content_bias, &a.position_bias, &a.position_rows})
        x->zero_gradient();
      Tape tape;
      tape.backward(op(a), cotangent);
    });
    result.flops = 9 * product_flops(c.B * c.H, c.D, c.T * (c.T + 1) / 2);
    result.tokens = static_cast<double>(c.B * c.T);
    return result;
  };
  return {text("attention T", c.T, " B", c.B, " H", c.H, " D", c.D, ", ", name), run};
}

}  // namespace

std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  for (const Sizes& c : {Sizes{12, 4, 64, 32}, Sizes{8, 4, 256, 64}, Sizes{2, 4, 1024, 64}}) {
    cases.push_back(attention_case(c, "kernel", relative_attention));
    cases.push_back(attention_case(c, "kernel, dropout 0.1", [](RelativeAttention a) {
      a.dropout = {.seed = 1, .stream = 2, .rate = 0.1};
      return relative_attention(a);
    }));
    cases.push_back(attention_case(
        c, "composed", [](const RelativeAttention& a) { return composed_attention(a); }));
  }
  return cases;
}

}  // namespace shiftgrad::bench
