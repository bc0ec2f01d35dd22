// char_lm inspect lists the content of a checkpoint, or of any file of tensors.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <numbers>

#include "bfloat16_weights.h"
#include "command.h"
#include "examples/common/fixed.h"
#include "examples/common/flags.h"
#include "examples/common/model_file.h"
#include "examples/common/printable.h"
#include "examples/common/report.h"
#include "nn/models/run_file.h"
#include "run_folder.h"

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

template <class Number>
Summary summary_of(const std::vector<std::byte>& bytes) {
  std::vector<Number> values(bytes.size() / sizeof(Number));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  Summary result;
  for (Number value : values) result.add(static_cast<double>(value));
  return result;
}

/// Returns nothing for values that are neither BF16 nor F32 nor F64.
std::optional<Summary> summary(const shiftgrad::StoredTensor& stored) {
  const shiftgrad::StoredTensor tensor = in_float32({{"", stored}}).at("");
  if (tensor.dtype == shiftgrad::DType::f32) return summary_of<float>(tensor.bytes);
  if (tensor.dtype == shiftgrad::DType::f64) return summary_of<double>(tensor.bytes);
  return std::nullopt;
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

/// Prints a table of tensors, in the order of `names`.
void print_parameters(const std::map<std::string, shiftgrad::StoredTensor>& tensors,
                      const std::vector<std::string>& names) {
  std::vector<Row> table = {{"parameter", "shape", "count", "mean", "deviation", "norm"}};
  Summary total;
  for (const std::string& name : names) {
    const shiftgrad::StoredTensor& tensor = tensors.at(name);
    std::string shown = printable(name), shape = shiftgrad::text(tensor.shape);
    if (auto values = summary(tensor)) {
      total.add(*values);
      table.push_back(row(shown, shape, *values));
    } else {
      table.push_back({shown, shape, std::to_string(product(tensor.shape)),
                       shiftgrad::text(tensor.dtype), "", ""});
    }
  }
  std::string count = shiftgrad::text(names.size(), " tensors");
  table.push_back(row("total", count, total));
  print(table);
}

/// Returns a loss in nats and in bits, each per `unit`.
std::string loss(const std::optional<double>& nats, const std::string& unit) {
  if (!nats) return "not measured";
  return fixed(*nats, 4) + " nats = " + fixed(*nats / std::numbers::ln2, 3) + " bits" + unit;
}

/// Prints a line for each setting in a JSON object.
void print_settings(const std::string& title, const std::string& json) {
  constexpr size_t longest = 1000;
  std::vector<Row> table;
  for (const auto& [name, value] : common::settings_of(json))
    table.push_back({"  " + printable(name), printable(value, longest)});
  if (table.empty()) return;
  std::cout << '\n' << title << '\n';
  print(table);
}

/// What `inspect` says of a file that the file itself does not.
struct Inspected {
  common::ModelFile file;
  std::vector<std::string> names{};  ///< of the weights, in the order of the model if it is known
  std::string unit{}, vocabulary{};
};

Inspected inspected(const std::string& path) {
  Inspected result{common::read_model_file(path)};
  for (const auto& [name, tensor] : result.file.weights) result.names.push_back(name);
  if (result.file.is_of(shiftgrad::seq2seq_format)) result.unit = " per token";
  if (!result.file.is_of(shiftgrad::language_model_format)) return result;
  // Bad flags and weights that do not fit are refused here as by the other commands.
  SavedRun run = load_checkpoint(path);
  result.names.clear();
  for (const auto& [name, shape] : common::shapes_of(make_model(run.checkpoint, path)))
    result.names.push_back(name);
  result.unit = " per character";
  result.vocabulary = shiftgrad::text(run.vocabulary.size(), ' ', run.flags.vocab);
  return result;
}

void print(const Inspected& shown) {
  const auto& [file, names, unit, vocabulary] = shown;
  std::cout << printable(file.path) << "\nhas              " << file.has() << '\n';
  if (file.metadata.contains("step"))
    std::cout << "step             " << file.state.step << "\ntrain loss       "
              << loss(file.state.train_loss, unit) << "\nvalidation loss  "
              << loss(file.state.validation_loss, unit) << '\n';
  if (!vocabulary.empty()) std::cout << "vocabulary       " << vocabulary << '\n';
  std::cout << '\n';
  print_parameters(file.weights, names);
  print_settings("model", file.text("model"));
  print_settings("training", file.text("training"));
  std::cout << std::flush;
}

Command::Work prepare(const InspectFlags& flags) {
  auto shown = std::make_shared<Inspected>(
      inspected(common::checkpoint_of(flags.out_dir, flags.checkpoint)));
  return [shown] { print(*shown); };
}

}  // namespace

Command inspect_command(CLI::App& program) {
  CLI::App& app =
      add_command(program, "inspect",
                  "List a checkpoint's losses, parameters, model and training flags; also of a "
                  "file that save() or seq2seq wrote, as far as it has them");
  auto flags = std::make_shared<InspectFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
