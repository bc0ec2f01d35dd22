// Yearly sunspots, one to ten years ahead, by a Transformer-XL over vectors. It reads the series in
// segments, each after a memory of the years before, and at each year says the next ten at once.
// `sunspots DATA MODEL [SEED [STEPS]]` reads what baselines.py wrote, and writes the best model.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"

using namespace shiftgrad;

constexpr int64_t horizon = 10, segment = 16, mem_len = 48;
constexpr int64_t trained = 200, validated = 240;  // the years up to 1899, and up to 1939
constexpr Scalar unit = 50;  // the series has the square roots of so many spots

struct Forecaster : Module {
  Linear input, output;
  Blocks body;

  explicit Forecaster(Random random)
      : input(1, 32, true, random),
        output(32, horizon, true, random),
        body({.d_model = 32,
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
  void visit(Visitor& visitor) const override {
    visitor("input", input);
    visitor("body", body);
    visitor("output", output);
  }
};

/// Returns what the model says at each year of a series [1, T, 1], as [1, T, 10].
Tensor forecasts_of(const Forecaster& model, const Tensor& series) {
  Context context;
  Memory memory;
  std::vector<Tensor> parts;
  for (int64_t t = 0, T = series.size(1); t < T; t += segment)
    parts.push_back(model(slice(series, 1, t, std::min(t + segment, T)), memory, context));
  return concat(parts, 1);
}

/// Returns the root of the mean squared error of the forecasts of the years first … last-1, made
/// `ahead` years before.
double error(const Tensor& forecasts, const Tensor& series, int64_t first, int64_t last,
             int64_t ahead) {
  Tensor forecast = slice(select(forecasts, 2, ahead - 1), 1, first - ahead, last - ahead);
  Tensor spots = square(slice(select(series, 2, 0), 1, first, last)) * unit;
  return std::sqrt(mse_loss(square(forecast) * unit, spots).item());
}

/// Returns the mean over all distances of a forecast.
Evaluation score(const Tensor& forecasts, const Tensor& series, int64_t first, int64_t last) {
  double sum = 0;
  for (int64_t ahead = 1; ahead <= horizon; ++ahead)
    sum += error(forecasts, series, first, last, ahead);
  return {sum / horizon, last - first};
}

/// Returns the loss of eight spans of 140 years, in each of which the cycles are weaker or
/// stronger.
Tensor loss_of(const Forecaster& model, const Tensor& series, Context& context) {
  std::vector<Tensor> spans;
  for (int64_t n = 0, length = trained - 60; n < 8; ++n) {
    int64_t begin = context.random.below(60);
    auto strength = static_cast<Scalar>(std::exp(0.4 * context.random.normal()));
    spans.push_back(slice(series, 1, begin, begin + length) * strength);
  }
  Tensor years = concat(spans, 0);  // [B, 140, 1]
  Memory memory;
  std::vector<Tensor> losses;
  for (int64_t t = 0; t + segment + horizon <= years.size(1); t += segment) {
    std::vector<Tensor> next;
    for (int64_t ahead = 1; ahead <= horizon; ++ahead)
      next.push_back(slice(years, 1, t + ahead, t + ahead + segment));  // [B, T, 1]
    Tensor forecast = model(slice(years, 1, t, t + segment), memory, context);
    losses.push_back(reshape(mse_loss(forecast, concat(next, 2)), {1}));
  }
  return mean(concat(losses, 0));
}

int main(int count, char** words) try {
  initialize();
  Arguments arguments(count, words);
  SafeTensors file = read_safetensors(arguments.text(0, "DATA"));
  check_names({"sunspots"}, file.tensors);
  std::string path = arguments.text(1, "MODEL");
  auto seed = static_cast<uint64_t>(arguments.number(2, "SEED", 1));
  Tensor spots = converted_tensor("sunspots", file.tensors.at("sunspots"));  // [T]
  Tensor series = reshape(sqrt(spots / unit), {1, -1, 1});

  Forecaster model({.seed = seed});
  TaskTraining training(model, AdamW{.weight_decay = 0.1},
                        {.schedule = {.learning_rate = 5e-4, .warmup_iters = 20},
                         .max_iters = arguments.number(3, "STEPS", 1200),
                         .eval_interval = 50,
                         .grad_clip = 1,
                         .seed = seed},
                        {.loss = [&](Context& context) { return loss_of(model, series, context); },
                         .scores =
                             [&] {
                               Tensor forecasts = forecasts_of(model, series);
                               return std::pair(score(forecasts, series, horizon, trained),
                                                score(forecasts, series, trained, validated));
                             }});
  training.run({.on_evaluation = [&](const EvaluationReport& report) {
    std::cout << "step " << report.step << ": " << report.train.nats << ", validation "
              << report.validation.nats << std::endl;
    if (report.best) save(model, path);
  }});
  load(model, path);
  Tensor forecasts = forecasts_of(model, series);
  for (int64_t ahead : {1, 2, 5, 10})
    std::cout << ahead << " ahead: " << error(forecasts, series, validated, series.size(1), ahead)
              << '\n';
} catch (const std::exception& error) {
  std::cerr << "sunspots: " << error.what() << '\n';
  return 1;
}
