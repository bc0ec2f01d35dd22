// char_lm inspect lists the content of a checkpoint, or of any file of tensors.

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "command.h"
#include "core/io/float_types.h"
#include "core/io/tensor_file.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/draw/printable.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/model_file.h"
#include "examples/apps/runs/report.h"
#include "examples/apps/runs/writers.h"
#include "nn/models/run_file.h"
#include "nn/parameter_budget.h"
#include "run_folder.h"

namespace char_lm {

using apps::fixed;
using apps::printable;
using apps::significant;

namespace {

struct InspectFlags {
  std::string out_dir;
  std::string checkpoint = "best";
};

/// A summary of some values.
struct Summary {
  int64_t count = 0;
  double mean = 0, squared_deviations = 0, squares = 0;

  /// Joins both, with deviations from the mean of all: squares alone would leave only rounding to
  /// the deviation of large numbers.
  void add(const Summary& other) {
    if (other.count == 0) return;
    auto here = static_cast<double>(count), there = static_cast<double>(other.count);
    double apart = other.mean - mean;
    mean += apart * there / (here + there);
    squared_deviations +=
        other.squared_deviations + (here > 0 ? apart * apart * here * there / (here + there) : 0);
    squares += other.squares;
    count += other.count;
  }
  double deviation() const { return std::sqrt(squared_deviations / static_cast<double>(count)); }
  double norm() const { return std::sqrt(squares); }
};

/// Returns the sum of term(value), as eight sums: one alone would wait for each addition.
template <class Term>
double sum_of(std::span<const double> values, Term term) {
  std::array<double, 8> sums{};
  for (; values.size() >= sums.size(); values = values.subspan(sums.size()))
    for (size_t n = 0; n < sums.size(); ++n) sums[n] += term(values[n]);
  for (size_t n = 0; n < values.size(); ++n) sums[n] += term(values[n]);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

Summary summary_of(std::span<const double> values) {
  const double mean =
      sum_of(values, [](double value) { return value; }) / static_cast<double>(values.size());
  return {std::ssize(values), mean,
          sum_of(values, [&](double value) { return (value - mean) * (value - mean); }),
          sum_of(values, [](double value) { return value * value; })};
}

using Row = std::vector<std::string>;

/// The longest text in a cell of a table. Each cell is as wide as the widest one of its column, so
/// a long name would be paid for in every row.
constexpr size_t longest_cell = 1000;

/// What a table says of one tensor, or of all.
struct Listed {
  std::string shape, type;
  /// The number of values, if it is known and can be counted.
  std::optional<int64_t> count;
  /// Nothing for types whose values are no numbers to the library.
  std::optional<Summary> numbers;

  Row row(const std::string& name) const {
    Row cells = {name, shape, type, count ? std::to_string(*count) : ""};
    bool some = numbers && numbers->count > 0;
    cells.push_back(some ? significant(numbers->mean, 4) : "");
    cells.push_back(some ? significant(numbers->deviation(), 4) : "");
    cells.push_back(numbers ? significant(numbers->norm(), 4) : "");
    return cells;
  }
};

using Listing = std::map<std::string, Listed>;

std::optional<int64_t> count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  return count;
}

Listed listed(const shiftgrad::TensorEntry& entry) {
  std::vector<double> none;
  Listed result{printable(shiftgrad::shape_text(entry.shape), longest_cell),
                printable(entry.dtype, longest_cell),
                count_of(entry.shape),
                {}};
  bool known = shiftgrad::is_name<shiftgrad::DType>(entry.dtype);
  if (known && append_numbers(shiftgrad::value_named<shiftgrad::DType>(entry.dtype), {}, none))
    result.numbers.emplace();
  return result;
}

/// Reads a file piece after piece and returns what its tensors hold, and its header.
std::pair<Listing, shiftgrad::TensorList> listing_of(const std::string& path) {
  Listing listing;
  std::vector<double> numbers;
  auto visit = [&](const shiftgrad::TensorEntry& entry, std::span<const std::byte> piece) {
    auto place = listing.find(entry.name);
    if (place == listing.end()) place = listing.emplace(entry.name, listed(entry)).first;
    Listed& tensor = place->second;
    if (!tensor.numbers) return;
    numbers.clear();
    append_numbers(shiftgrad::value_named<shiftgrad::DType>(entry.dtype), piece, numbers);
    tensor.numbers->add(summary_of(numbers));
  };
  shiftgrad::TensorList header = shiftgrad::list_safetensors(path, visit);
  // Those without a byte.
  for (const shiftgrad::TensorEntry& entry : header.entries)
    listing.try_emplace(entry.name, listed(entry));
  return {std::move(listing), std::move(header)};
}

/// Returns the line about all these tensors.
Row total_of(const Listing& listing, const std::vector<std::string>& names) {
  Listed total{shiftgrad::text(names.size(), " tensors"), "", 0, Summary()};
  for (const std::string& name : names) {
    const Listed& tensor = listing.at(name);
    int64_t sum = 0;
    bool overflow =
        !total.count || __builtin_add_overflow(*total.count, tensor.count.value_or(0), &sum);
    total.count = overflow ? std::nullopt : std::optional(sum);
    if (!tensor.numbers) total.numbers.reset();
    if (total.numbers) total.numbers->add(*tensor.numbers);
  }
  return total.row("total");
}

/// Prints a table with words aligned left and numbers aligned right.
void print(const std::vector<Row>& table) {
  std::vector<size_t> widths(table.front().size());
  for (const Row& row : table)
    for (size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
  for (const Row& row : table) {
    for (size_t n = 0; n < row.size(); ++n) {
      bool word = n < 3, last = n + 1 == row.size();
      std::cout << (n > 0 ? "  " : "") << (word ? std::left : std::right)
                << std::setw(word && last ? 0 : static_cast<int>(widths[n])) << row[n];
    }
    std::cout << '\n';
  }
}

/// Prints a table of tensors, in the order of `names`.
void print_parameters(const Listing& listing, const std::vector<std::string>& names) {
  std::vector<Row> table = {{"parameter", "shape", "type", "count", "mean", "deviation", "norm"}};
  for (const std::string& name : names)
    table.push_back(listing.at(name).row(printable(name, longest_cell)));
  table.push_back(total_of(listing, names));
  print(table);
}

/// Returns a loss in nats and in bits, each per `unit`.
std::string loss(const std::optional<double>& nats, const std::string& unit) {
  if (!nats) return "not measured";
  return fixed(*nats, 4) + " nats = " + fixed(*nats / std::numbers::ln2, 3) + " bits" + unit;
}

/// Prints a line for each setting in a JSON object.
void print_settings(const std::string& title, const std::string& json) {
  std::vector<Row> table;
  for (const auto& [name, value] : apps::settings_of(json))
    table.push_back({"  " + printable(name, longest_cell), printable(value, longest_cell)});
  if (table.empty()) return;
  std::cout << '\n' << title << '\n';
  print(table);
}

/// What `inspect` says of a file.
struct Inspected {
  apps::ModelFile file;  ///< of tensors without values
  Listing listing;
  std::vector<std::string> names{};  ///< of the weights, in the order of the model if it is known
  std::string unit{}, vocabulary{};
};

/// Returns the content of a file without values. A tensor that the library cannot hold is a BOOL.
shiftgrad::SafeTensors without_values(const shiftgrad::TensorList& list) {
  shiftgrad::SafeTensors content{{}, list.metadata};
  for (const auto& [name, dtype, shape, begin, end] : list.entries) {
    bool known = shiftgrad::is_name<shiftgrad::DType>(dtype) &&
                 shape.size() <= static_cast<size_t>(shiftgrad::Dims::max_rank);
    content.tensors[name] = {shiftgrad::DType::boolean, {}, {}};
    if (known)
      content.tensors[name] = {
          shiftgrad::value_named<shiftgrad::DType>(dtype), shiftgrad::Dims(shape), {}};
  }
  return content;
}

/// Returns the names of the model's parameters. Throws what loading the run would throw.
std::vector<std::string> checked_names(const SavedRun& run) {
  const auto& weights = run.checkpoint.weights;
  int64_t values = 0;
  for (const auto& [name, tensor] : weights) values += product(tensor.shape);
  return shiftgrad::in_name_of(run.source, [&] {
    shiftgrad::ParameterBudget budget(values, std::ssize(weights));
    shiftgrad::LanguageModel model(run.checkpoint.model, budget);
    std::vector<std::string> names;
    for (const auto& [name, shape] : apps::shapes_of(model)) names.push_back(name);
    shiftgrad::check_names(names, weights);
    for (const auto& [name, shape] : apps::shapes_of(model))
      shiftgrad::check_kind(name, weights.at(name), shape);
    return names;
  });
}

Inspected inspected(const std::string& path) {
  auto [listing, header] = listing_of(path);
  // clang 14 lets no function capture a name of such a pair.
  shiftgrad::RunFile file =
      shiftgrad::in_name_of(path, [&header = header] { return as_run(without_values(header)); });
  Inspected result{{file, path}, std::move(listing)};
  for (const auto& [name, tensor] : file.weights) result.names.push_back(name);
  apps::note_writer(path, file.version());
  if (file.is_of(shiftgrad::seq2seq_format)) result.unit = " per token";
  if (!file.is_of(shiftgrad::language_model_format)) return result;
  // Bad flags and weights that do not fit are refused here as by the other commands.
  SavedRun run = shiftgrad::in_spite_of_version(file.version(), [&] {
    return saved_run(shiftgrad::in_name_of(path, [&] { return shiftgrad::as_checkpoint(file); }),
                     path);
  });
  result.names = checked_names(run);
  result.unit = " per character";
  result.vocabulary = shiftgrad::text(run.vocabulary.size(), ' ', run.flags.vocab);
  return result;
}

void print(const Inspected& shown) {
  const auto& [file, listing, names, unit, vocabulary] = shown;
  std::cout << printable(file.path) << "\nhas              " << file.has() << '\n';
  if (!file.version().empty())
    std::cout << "written by       shiftgrad " << printable(file.version(), longest_cell) << '\n';
  if (file.metadata.contains("step"))
    std::cout << "step             " << file.state.step << "\ntrain loss       "
              << loss(file.state.train_loss, unit) << "\nvalidation loss  "
              << loss(file.state.validation_loss, unit) << '\n';
  if (!vocabulary.empty()) std::cout << "vocabulary       " << vocabulary << '\n';
  std::cout << '\n';
  print_parameters(listing, names);
  print_settings("model", file.text("model"));
  print_settings("training", file.text("training"));
  std::cout << std::flush;
}

Command::Work prepare(const InspectFlags& flags) {
  auto shown =
      std::make_shared<Inspected>(inspected(apps::checkpoint_of(flags.out_dir, flags.checkpoint)));
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
