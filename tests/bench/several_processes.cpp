// What training steps take in as many processes as mpirun starts, with the sums of the gradients
// during the backward pass and after it. cost_model.py compares that with its formula.
//
//     mpirun -n N several_processes --n_embd 256 --n_layer 4 --block_size 128 --batch_size 16
//
// The first prints a line of JSON, with times in seconds and medians over the steps: sums of
// some bytes that run alone, the step of one process on its rows alone, when each bucket
// of gradients is begun in it and how many bytes that has, and the step and its waiting for others
// in both ways.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/machine/parallel.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/program.h"
#include "nn/models/language_model.h"
#include "optim/peers/launched_peers.h"
#include "optim/trainer.h"
#include "tests/bench/models.h"

namespace shiftgrad::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The peers, with a note of when sums are begun; those may be held back until they are waited for.
class Observed : public ProcessGroup {
 public:
  Observed(ProcessGroup& peers, bool hold_back) : peers_(peers), hold_back_(hold_back) {}
  int64_t rank() const override { return peers_.rank(); }
  int64_t size() const override { return peers_.size(); }
  void start_sum(std::vector<Scalar> values) override {
    begun.push_back(seconds_since(start));
    bytes.push_back(values.size() * sizeof(Scalar));
    if (hold_back_)
      held_back_.push_back(std::move(values));
    else
      peers_.start_sum(std::move(values));
  }
  std::vector<std::vector<Scalar>> finish_sums() override {
    for (std::vector<Scalar>& values : held_back_) peers_.start_sum(std::move(values));
    held_back_.clear();
    return peers_.finish_sums();
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override {
    return peers_.gather(mine);
  }
  bool speaks_for_failed() override { return peers_.speaks_for_failed(); }
  void end_waiting(int status) override { peers_.end_waiting(status); }

  Clock::time_point start;
  std::vector<double> begun;
  std::vector<size_t> bytes;

 private:
  ProcessGroup& peers_;
  bool hold_back_;
  std::vector<std::vector<Scalar>> held_back_;
};

struct Shape {
  int64_t n_embd = 256, n_layer = 4, block_size = 128, batch_size = 16;
  int steps = 20;
};

/// The median step, the median of its waiting, and what the last step's sums were.
nlohmann::json measured(const Shape& shape, int64_t batch_size, Observed& peers) {
  Random random{.seed = 1};
  std::vector<int32_t> text(400000);
  for (int32_t& token : text) token = static_cast<int32_t>(random.below(96));
  LanguageModelConfig config = small_model(TransformerXLAttentionConfig{});
  config.d_model = shape.n_embd;
  config.d_inner = 4 * shape.n_embd;
  config.n_layer = shape.n_layer;
  LanguageModel model(config, random);
  Trainer trainer(
      model, text, text,
      {.batch_size = batch_size, .block_size = shape.block_size, .mem_len = shape.block_size},
      peers);
  std::vector<double> steps, waits;
  for (int n = -3; n < shape.steps; ++n) {
    peers.begun.clear();
    peers.bytes.clear();
    peers.gather({});
    peers.start = Clock::now();
    StepReport report = trainer.step();
    if (n < 0) continue;
    steps.push_back(report.seconds);
    waits.push_back(report.waiting_seconds);
  }
  return {{"step", median(steps)}, {"waiting", median(waits)}};
}

/// One of two peers of which the other is not there: the work of a process on its half of the rows,
/// with all that it does for sums.
class Unanswered : public ProcessGroup {
 public:
  int64_t size() const override { return 2; }
};

/// The time that a sum of that many scalars takes by itself.
nlohmann::json measured_sum(size_t count, int times, ProcessGroup& peers) {
  std::vector<double> seconds;
  for (int n = -3; n < times; ++n) {
    std::vector<Scalar> values(count);
    peers.gather({});
    Clock::time_point start = Clock::now();
    peers.start_sum(std::move(values));
    peers.finish_sums();
    if (n >= 0) seconds.push_back(seconds_since(start));
  }
  return {{"bytes", count * sizeof(Scalar)}, {"seconds", median(seconds)}};
}

nlohmann::json compare(const Shape& shape, ProcessGroup& peers) {
  Unanswered nobody;
  Observed alone(nobody, false), overlapped(peers, false), behind(peers, true);
  int64_t rows = own_rows(peers, shape.batch_size).size();
  nlohmann::json one = measured(shape, 2 * rows, alone);
  nlohmann::json result{
      {"processes", peers.size()}, {"rows", rows},         {"tokens", rows * shape.block_size},
      {"alone", one["step"]},      {"begun", alone.begun}, {"bytes", alone.bytes}};
  for (size_t count : {1, 1 << 18})
    result["sums"].push_back(measured_sum(count, shape.steps, peers));
  result["overlapped"] = measured(shape, shape.batch_size, overlapped);
  result["behind"] = measured(shape, shape.batch_size, behind);
  return result;
}

}  // namespace

}  // namespace shiftgrad::bench

int main(int count, char** arguments) {
  using namespace shiftgrad;
  apps::keep_standard_streams();
  initialize();
  bench::Shape shape;
  auto program = apps::make_program(
      "Times training steps of a Transformer-XL in several processes.", "several_processes");
  auto flag = [&](const char* name, auto& value, const char* unit, const char* help) {
    apps::add_flag(*program, name, value, unit, help, range::one_or_more);
  };
  flag("n_embd", shape.n_embd, "CHANNELS", "channels of the model");
  flag("n_layer", shape.n_layer, "LAYERS", "blocks of the model");
  flag("block_size", shape.block_size, "TOKENS", "tokens of a row, and of the memory");
  flag("batch_size", shape.batch_size, "ROWS", "rows of all processes together");
  flag("steps", shape.steps, "STEPS", "steps to time");
  std::unique_ptr<ProcessGroup> peers = launched_peers();
  auto prepare = [&]() -> apps::Command::Work {
    return [&] {
      ThreadLimit one(1);
      nlohmann::json result = bench::compare(shape, *peers);
      if (peers->rank() == 0) std::cout << result << std::endl;
    };
  };
  return apps::run_program(*program, {{program.get(), prepare}}, count, arguments, *peers);
}
