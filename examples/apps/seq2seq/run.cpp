#include "run.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "core/io/float_types.h"
#include "core/io/json.h"
#include "examples/apps/runs/named_run.h"
#include "examples/apps/runs/weights.h"
#include "examples/apps/runs/writers.h"
#include "nn/models/config.h"
#include "nn/state_dict.h"

namespace seq2seq {

using nlohmann::json;
using shiftgrad::in_name_of;
using shiftgrad::require;
using shiftgrad::shown;
using shiftgrad::text;

namespace {

Symbols symbols_from(const shiftgrad::RunFile& file, const char* key, Unit unit) {
  json list = shiftgrad::parse_json(key, file.at(key));
  require(list.is_array(), key, " ", shown(list), ", expected a list");
  std::vector<std::string> known;
  for (const json& symbol : list) {
    require(symbol.is_string() && split(symbol.get<std::string>(), unit).size() == 1, key, ": ",
            shown(symbol), ", expected a symbol");
    known.push_back(symbol);
  }
  require(std::set(known.begin(), known.end()).size() == known.size(), key,
          ": a symbol occurs twice");
  return {unit, known, first_symbol};
}

SavedRun run_from(shiftgrad::RunFile file, const std::string& path) {
  file.check_format(shiftgrad::seq2seq_format);
  TrainFlags flags = TrainFlags::from_json(file.at("training"), "training");
  SavedRun run{
      .source = path,
      .flags = flags,
      .model = shiftgrad::config_from_json<shiftgrad::EncoderDecoderConfig>(file.at("model")),
      .source_symbols =
          symbols_from(file, "source_symbols", unit_named("source_tokens", flags.source_tokens)),
      .target_symbols =
          symbols_from(file, "target_symbols", unit_named("target_tokens", flags.target_tokens)),
      .state = std::move(file.state),
      .weights = shiftgrad::with_type(std::move(file.weights), shiftgrad::DType::f32)};
  require(run.source_symbols.tokens() == run.model.source_vocab_size &&
              run.target_symbols.tokens() == run.model.target_vocab_size,
          run.source_symbols.tokens(), " and ", run.target_symbols.tokens(),
          " tokens, but the model has ", run.model.source_vocab_size, " and ",
          run.model.target_vocab_size);
  return run;
}

auto maker(const SavedRun& run) {
  return [&](shiftgrad::Init init) { return shiftgrad::EncoderDecoder(run.model, init); };
}

}  // namespace

void write_run(const std::string& path, const SavedRun& run) {
  shiftgrad::RunFile file{run.weights,
                          {{"format", shiftgrad::seq2seq_format},
                           {"model", config_to_json(run.model)},
                           {"source_symbols", json(run.source_symbols.known()).dump()},
                           {"target_symbols", json(run.target_symbols.known()).dump()},
                           {"training", run.flags.to_json()}},
                          run.state};
  write_run_file(path, std::move(file), [&](const shiftgrad::RunFile& read) {
    in_name_of(path, [&] { run_from(read, path); });
    shiftgrad::check_loadable(run.weights, path, maker(run));
  });
}

SavedRun load_checkpoint(const std::string& path) {
  shiftgrad::RunFile file = shiftgrad::read_run_file(path);
  std::string version = file.version();
  auto read = [&] { return run_from(std::move(file), path); };
  SavedRun run = in_name_of(path, [&] { return shiftgrad::in_spite_of_version(version, read); });
  apps::note_writer(path, version);
  return run;
}

SavedRun load_run(const std::string& run, const std::string& name) {
  return load_checkpoint(apps::checkpoint_of(run, name));
}

shiftgrad::EncoderDecoder make_model(const SavedRun& run) {
  shiftgrad::EncoderDecoder model = shiftgrad::loaded_model(run.weights, run.source, maker(run));
  apps::check_weights(model, run.source);
  return model;
}

Line read_line(const std::string& line, const Symbols& symbols, int64_t longest) {
  if (line.empty()) return {{}, "an empty line"};
  if (auto error = utf8_error(line)) return {{}, error};
  auto [tokens, count, unknown] = symbols.encode(line, longest);
  const char* unit = symbols.unit() == Unit::word ? "word " : "character ";
  if (unknown) return {{}, text("the model does not know the ", unit, shown(*unknown)), true};
  if (tokens.empty()) return {{}, "no words"};
  if (count > longest) return {{}, text(count, " tokens, but the model takes at most ", longest)};
  return {std::move(tokens), {}};
}

std::vector<shiftgrad::TokenPair> encode(std::span<const Row> rows, const Symbols& source,
                                         const Symbols& target, int64_t longest,
                                         const std::string& place, BadRows bad,
                                         const std::string& remedy) {
  std::vector<shiftgrad::TokenPair> pairs;
  auto reason = [&](const Line& line) { return *line.error + (line.has_unknown ? remedy : ""); };
  for (const Row& row : rows) {
    Line from = read_line(row.source, source, longest);
    // The target comes after its begin.
    Line to = read_line(row.target, target, longest - 1);
    if (from.error) {
      report_bad_row(place, row.line, "source: " + reason(from), bad);
    } else if (to.error) {
      report_bad_row(place, row.line, "target: " + reason(to), bad);
    } else {
      pairs.push_back({std::move(from.tokens), std::move(to.tokens)});
    }
  }
  require(!pairs.empty(), place, ": no rows that the model can read");
  return pairs;
}

}  // namespace seq2seq
