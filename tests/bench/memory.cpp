// What attention, forward and backward, takes of memory beyond its input and weights as the text
// grows, d64 H2: the composed path's [B, H, T, K] tensors grow with T², the kernel's buffers with
// T.

#include "core/tape.h"
#include "nn/transformer_xl_attention.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

Result run(int64_t T, bool composed) {
  constexpr int64_t C = 64, H = 2;
  Random random{.seed = 1};
  TransformerXLAttention layer({}, {C, H}, random);
  Tensor x = Tensor::full({1, T, C}, 1).require_gradient();
  Tensor cotangent = Tensor::full({1, T, C}, 1);
  Context context;
  if (composed) context.recorder = [](const Tensor&) {};
  return timed(1, [&] {
    Tape tape;
    tape.backward(layer.forward(x, {}, context), cotangent);
  });
}

}  // namespace

std::vector<Case> memory_cases() {
  std::vector<Case> list;
  for (int64_t T : {1024, 2048, 4096, 8192, 16384}) {
    std::string length = " T" + std::to_string(T);
    list.push_back({"memory kernel" + length, [T](int) { return run(T, false); }});
    if (T <= 8192) list.push_back({"memory composed" + length, [T](int) { return run(T, true); }});
  }
  return list;
}

}  // namespace shiftgrad::bench
