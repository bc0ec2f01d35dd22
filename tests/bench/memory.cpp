// What attention, forward and backward, takes of memory beyond its input and weights as the text
// grows, d64 H2: a [B, H, T, K] tensor would grow with T², the kernel grows with T.

#include "core/tape.h"
#include "nn/transformer_xl_attention.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

Result run(int64_t T) {
  constexpr int64_t C = 64, H = 2;
  Random random{.seed = 1};
  TransformerXLAttention layer({.d_model = C, .n_head = H}, random);
  Tensor x = Tensor::full({1, T, C}, 1).require_gradient();
  Tensor cotangent = Tensor::full({1, T, C}, 1);
  Context context;
  return timed(1, [&] {
    Tape tape;
    tape.backward(layer.forward(x, {}, context), cotangent);
  });
}

}  // namespace

std::vector<Case> memory_cases() {
  std::vector<Case> list;
  for (int64_t T : {1024, 2048, 4096, 8192, 16384})
    list.push_back({"memory transformer_xl T" + std::to_string(T), [T](int) { return run(T); }});
  return list;
}

}  // namespace shiftgrad::bench
