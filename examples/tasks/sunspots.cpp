// Yearly sunspots, one to ten years ahead, by a Transformer-XL over vectors. It reads the series in
// segments, each after a memory of the years before, and at each year says the next ten at once.
// `sunspots DATA MODEL [SEED [STEPS]]` reads what baselines.py wrote, and writes the best model.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "program.h"

using namespace shiftgrad;

constexpr int64_t horizon = 10, segment = 16, mem_len = 48, span = 128;
constexpr int64_t trained = 200, validated = 240;  // the years up to 1899, and up to 1939
constexpr Scalar unit = 50;  // the series has the square roots of so many spots

struct Forecaster : VectorModel {
  explicit Forecaster(Random random)
      : VectorModel(1, horizon,
                    {.d_model = 32,
                     .n_layer = 2,
                     .n_head = 4,
                     .d_inner = 64,
                     .mixer = TransformerXLAttentionConfig{},
                     .dropout = 0.4},
                    random) {}

  /// Returns the ten years after each of the years [B, T, 1], as [B, T, 10].
  Tensor operator()(const Tensor& years, Memory& memory, Context& context) const {
    auto [y, inputs] = body(input(years), memory, context);  // [B, T, C]
    memory = remember(memory, inputs, mem_len);
    return output(y);  // [B, T, 10]
  }
};

/// Returns what the model says at each of the years [B, T, 1], as [B, T, 10].
Tensor forecasts_of(const Forecaster& model, const Tensor& years, Context& context) {
  Memory memory;
  std::vector<Tensor> parts;
  for (int64_t t = 0, T = years.size(1); t < T; t += segment)
    parts.push_back(model(slice(years, 1, t, std::min(t + segment, T)), memory, context));
  return concat(parts, 1);
}

/// The years, and behind each the ten that follow it: [1, T, 11], of which those after the last are
/// 0.
Tensor with_next(const Tensor& years) {
  Tensor longer = concat({years, Tensor::zeros({1, horizon, 1})}, 1);  // [1, T + 10, 1]
  std::vector<Tensor> columns;
  for (int64_t ahead = 0; ahead <= horizon; ++ahead)
    columns.push_back(slice(longer, 1, ahead, ahead + years.size(1)));  // [1, T, 1]
  return concat(columns, 2);
}

/// Returns the loss of eight spans, in each of which the cycles are weaker or stronger.
Tensor loss_of(const Forecaster& model, const Tensor& series, Context& context) {
  std::vector<Tensor> spans;
  for (int64_t n = 0; n < 8; ++n) {
    int64_t begin = context.random.below(trained - horizon - span);
    auto strength = static_cast<Scalar>(std::exp(0.4 * context.random.normal()));
    spans.push_back(slice(series, 1, begin, begin + span) * strength);
  }
  Tensor years = concat(spans, 0);                                         // [8, 128, 11]
  Tensor forecasts = forecasts_of(model, slice(years, 2, 0, 1), context);  // [8, 128, 10]
  return mse_loss(forecasts, slice(years, 2, 1, horizon + 1));
}

/// Returns the root of the mean squared error, in spots, of the years first … last-1, told 1 to 10
/// years before.
std::vector<double> errors(const Forecaster& model, const Tensor& series, int64_t first,
                           int64_t last) {
  Context context;
  Tensor forecasts = forecasts_of(model, slice(series, 2, 0, 1), context);  // [1, T, 10]
  std::vector<double> result;
  for (int64_t ahead = 1; ahead <= horizon; ++ahead) {
    auto spots = [&](const Tensor& roots, int64_t column) {
      return square(slice(select(roots, 2, column), 1, first - ahead, last - ahead)) * unit;
    };
    Tensor loss = mse_loss(spots(forecasts, ahead - 1), spots(series, ahead));
    result.push_back(std::sqrt(loss.item()));
  }
  return result;
}

void sunspots(const Arguments& arguments) {
  SafeTensors file = read_safetensors(arguments.text(0, "DATA"));
  check_names({"sunspots"}, file.tensors);
  std::string path = arguments.text(1, "MODEL");
  auto seed = static_cast<uint64_t>(arguments.number(2, "SEED", 1));
  Tensor spots = converted_tensor("sunspots", file.tensors.at("sunspots"));  // [T]
  Tensor series = with_next(reshape(sqrt(spots / unit), {1, -1, 1}));        // [1, T, 11]

  Forecaster model({.seed = seed});
  auto score = [&](int64_t first, int64_t last) {
    std::vector<double> found = errors(model, series, first, last);
    return Evaluation{std::accumulate(found.begin(), found.end(), 0.0) / horizon, last - first};
  };
  TaskTraining training(
      model, AdamW{.weight_decay = 0.1},
      {.schedule = {.learning_rate = 5e-4, .warmup_iters = 20},
       .max_iters = arguments.number(3, "STEPS", 1200),
       .eval_interval = 50,
       .grad_clip = 1,
       .seed = seed},
      {.loss = [&](Context& context) { return loss_of(model, series, context); },
       .scores = [&] { return std::pair(score(horizon, trained), score(trained, validated)); }});
  training.run(saving_the_best(model, path));
  load(model, path);
  std::vector<double> found = errors(model, series, validated, series.size(1));
  for (size_t ahead : {1, 2, 5, 10}) std::cout << ahead << " ahead: " << found[ahead - 1] << '\n';
}

int main(int count, char** words) { return run_program("sunspots", count, words, sunspots); }
