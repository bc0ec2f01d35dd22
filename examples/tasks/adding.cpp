// The adding problem: a row has T numbers of 0 to 1, two of which are marked, and the model says
// their sum at the row's end. `adding [T [STEPS [SEED]]]`

#include <iostream>
#include <utility>

#include "program.h"

using namespace shiftgrad;

/// Returns numbers of 0 to 1 with a mark at one of the first half and one of the second, [B, T, 2],
/// and the sum of the two, [B, 1].
std::pair<Tensor, Tensor> problem(int64_t B, int64_t T, Random& random) {
  Tensor numbers = Tensor::zeros({B, T, 2}), sums = Tensor::zeros({B, 1});
  for (int64_t b = 0; b < B; ++b) {
    Scalar* row = numbers.mutable_data() + b * T * 2;
    for (int64_t t = 0; t < T; ++t) row[2 * t] = static_cast<Scalar>(random.uniform());
    for (int64_t half : {int64_t{0}, T / 2}) {
      int64_t t = half + random.below(T / 2);
      row[2 * t + 1] = 1;
      sums.mutable_data()[b] += row[2 * t];
    }
  }
  return {numbers, sums};
}

struct Adder : VectorModel {
  explicit Adder(Random random)
      : VectorModel(2, 1,
                    {.d_model = 64,
                     .n_layer = 2,
                     .n_head = 4,
                     .d_inner = 128,
                     .mixer = TransformerXLAttentionConfig{}},
                    random) {}

  /// Returns the sums [B, 1] of the marked ones of these numbers [B, T, 2].
  Tensor operator()(const Tensor& numbers, Context& context) const {
    return output(select(body(input(numbers), context), 1, -1));  // [B, 1]
  }
};

void adding(const Arguments& arguments) {
  int64_t T = arguments.number(0, "T", 200);
  require(T >= 2, "T ", T, ", expected at least 2");
  auto seed = static_cast<uint64_t>(arguments.number(2, "SEED", 1));
  Adder model({.seed = seed});
  auto loss_of = [&](int64_t B, Context& context) {
    auto [numbers, sums] = problem(B, T, context.random);
    return mse_loss(model(numbers, context), sums);
  };
  TaskTraining training(model, AdamW{},
                        {.schedule = {.learning_rate = 1e-3, .warmup_iters = 100},
                         .max_iters = arguments.number(1, "STEPS", 1000),
                         .eval_interval = 100,
                         .grad_clip = 1,
                         .seed = seed},
                        {.loss = [&](Context& context) { return loss_of(16, context); },
                         .scores =
                             [&] {
                               Context context{.random = {.seed = seed, .stream = 1000}};
                               Evaluation found{loss_of(256, context).item(), 256};
                               return std::pair(found, found);
                             }});
  training.run({.on_evaluation = [&](const EvaluationReport& report) {
    std::cout << "step " << report.step << ": squared error " << report.validation.nats
              << std::endl;
  }});
}

int main(int count, char** words) { return run_program("adding", count, words, adding); }
