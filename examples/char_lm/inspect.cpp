// char_lm inspect lists the content of a checkpoint.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "command.h"
#include "examples/common/fixed.h"
#include "examples/common/flags.h"
#include "examples/common/printable.h"
#include "run_folder.h"
#include "shiftgrad/nn/models/config.h"

namespace char_lm {

using common::fixed;
using common::printable;

namespace {

struct InspectFlags {
  std::string out_dir;
  std::string checkpoint = "best";
};

/// A summary of some values.
struct Summary {
  int64_t count = 0;
  double sum = 0, squares = 0;

  void add(double value) {
    ++count;
    sum += value;
    squares += value * value;
  }
  void add(const Summary& other) {
    count += other.count;
    sum += other.sum;
    squares += other.squares;
  }
  double mean() const { return sum / static_cast<double>(count); }
  double deviation() const {
    double variance = squares / static_cast<double>(count) - mean() * mean();
    // Rounding may make the variance of equal values negative; NaN stays NaN.
    return std::sqrt(variance < 0 ? 0 : variance);
  }
  double norm() const { return std::sqrt(squares); }
};

Summary summary(const shiftgrad::Tensor& tensor) {
  Summary result;
  for (shiftgrad::Scalar value : tensor.values()) result.add(static_cast<double>(value));
  return result;
}

using Row = std::vector<std::string>;

std::string short_number(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return digits;
}

Row row(const std::string& name, const std::string& shape, const Summary& values) {
  return {name,
          shape,
          std::to_string(values.count),
          short_number(values.mean()),
          short_number(values.deviation()),
          short_number(values.norm())};
}

/// Prints a table with words aligned left and numbers aligned right.
void print(const std::vector<Row>& table) {
  std::vector<size_t> widths(table.front().size());
  for (const Row& row : table)
    for (size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
  for (const Row& row : table) {
    for (size_t n = 0; n < row.size(); ++n) {
      bool word = n < 2, last = n + 1 == row.size();
      std::cout << (n > 0 ? "  " : "") << (word ? std::left : std::right)
                << std::setw(word && last ? 0 : static_cast<int>(widths[n])) << row[n];
    }
    std::cout << '\n';
  }
}

void print_parameters(const shiftgrad::LanguageModel& model) {
  std::vector<Row> table = {{"parameter", "shape", "count", "mean", "deviation", "norm"}};
  Summary total;
  for (const auto& [name, value, decay] : parameters(model)) {
    Summary values = summary(value);
    total.add(values);
    table.push_back(row(name, shiftgrad::text(value.shape()), values));
  }
  std::string tensors = shiftgrad::text(table.size() - 1, " tensors");
  table.push_back(row("total", tensors, total));
  print(table);
}

std::string loss(const std::optional<double>& nats) {
  if (!nats) return "not measured";
  return fixed(*nats, 4) + " nats = " + fixed(*nats / std::numbers::ln2, 3) + " bits per character";
}

/// Prints a line for each value of the JSON object. Values of nested objects are named as in
/// mixer.type.
void print_settings(const std::string& title, const std::string& json) {
  constexpr size_t longest = 1000;
  std::vector<Row> table;
  nlohmann::ordered_json settings = nlohmann::ordered_json::parse(json).flatten();
  for (const auto& [path, value] : settings.items()) {
    std::string name = path.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    if (!value.is_null()) table.push_back({"  " + name, printable(shown, longest)});
  }
  std::cout << '\n' << title << '\n';
  print(table);
}

Command::Work prepare(const InspectFlags& flags) {
  auto run = std::make_shared<SavedRun>(load_run(flags.out_dir, flags.checkpoint));
  auto model = std::make_shared<shiftgrad::LanguageModel>(make_model(run->checkpoint, run->source));
  return [run, model] {
    const shiftgrad::RunState& state = run->checkpoint.state;
    std::cout << run->source << "\nstep             " << state.step << "\ntrain loss       "
              << loss(state.train_loss) << "\nvalidation loss  " << loss(state.validation_loss)
              << "\nvocabulary       " << run->vocabulary.size() << ' ' << run->flags.vocab
              << "\n\n";
    print_parameters(*model);
    print_settings("model", config_to_json(run->checkpoint.model));
    print_settings("training", run->flags.to_json());
    std::cout << std::flush;
  };
}

}  // namespace

Command inspect_command(CLI::App& program) {
  CLI::App& app = add_command(program, "inspect",
                              "List a checkpoint's losses, parameters, model and training flags");
  auto flags = std::make_shared<InspectFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
