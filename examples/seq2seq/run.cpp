#include "run.h"

#include <cmath>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/errors.h"
#include "examples/char_lm/near_name.h"
#include "examples/char_lm/out_folder.h"
#include "nn/config.h"
#include "nn/json.h"
#include "nn/state_dict.h"

namespace seq2seq {

using nlohmann::json;
using shiftgrad::fail;
using shiftgrad::parse_json;
using shiftgrad::require;
using shiftgrad::shown;
using shiftgrad::text;

namespace {

constexpr const char* format = "shiftgrad-seq2seq-1";
constexpr int max_depth = 16;
constexpr std::string_view trainer_prefix = "trainer.";

/// The metadata of a file, each text checked before it is believed.
class Metadata {
 public:
  explicit Metadata(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  const std::string& at(const char* key) const {
    auto entry = texts_.find(key);
    require(entry != texts_.end(), "no ", key, " in the metadata");
    return entry->second;
  }

  int64_t count(const char* key) const {
    json value = parse_json(key, at(key), max_depth);
    require(value.is_number_integer() && value >= 0 && value <= std::numeric_limits<int64_t>::max(),
            key, " ", shown(value), ", expected a number of updates");
    return value;
  }

  std::optional<double> loss(const char* key) const {
    if (!texts_.contains(key)) return {};
    json value = parse_json(key, at(key), max_depth);
    require(value.is_number(), key, " ", shown(value), ", expected a number");
    return value;
  }

  Symbols symbols(const char* key, Unit unit) const {
    json list = parse_json(key, at(key), max_depth);
    require(list.is_array(), key, " ", shown(list), ", expected a list");
    std::vector<std::string> known;
    for (const json& symbol : list) {
      require(symbol.is_string() && split(symbol.get<std::string>(), unit).size() == 1, key, ": ",
              shown(symbol), ", expected a symbol");
      known.push_back(symbol);
    }
    require(std::set(known.begin(), known.end()).size() == known.size(), key,
            ": a symbol stands twice");
    return {unit, known, first_symbol};
  }

 private:
  const std::map<std::string, std::string>& texts_;
};

SavedRun run_from(shiftgrad::SafeTensors content, const std::string& path) {
  Metadata metadata(content.metadata);
  require(content.metadata.contains("format") && metadata.at("format") == format,
          "is not a checkpoint of the format ", format);
  TrainFlags flags = TrainFlags::from_json(metadata.at("training"), "training");
  SavedRun run{
      .source = path,
      .flags = flags,
      .model = shiftgrad::config_from_json<shiftgrad::EncoderDecoderConfig>(metadata.at("model")),
      .source_symbols =
          metadata.symbols("source_symbols", unit_named("source_tokens", flags.source_tokens)),
      .target_symbols =
          metadata.symbols("target_symbols", unit_named("target_tokens", flags.target_tokens)),
      .step = metadata.count("step"),
      .train_loss = metadata.loss("train_loss"),
      .validation_loss = metadata.loss("validation_loss")};
  require(run.source_symbols.tokens() == run.model.source_vocab_size &&
              run.target_symbols.tokens() == run.model.target_vocab_size,
          run.source_symbols.tokens(), " and ", run.target_symbols.tokens(),
          " tokens for a model of ", run.model.source_vocab_size, " and ",
          run.model.target_vocab_size);
  for (auto& [name, tensor] : content.tensors) {
    bool weight = !name.starts_with(trainer_prefix);
    std::string own_name = weight ? name : name.substr(trainer_prefix.size());
    (weight ? run.weights : run.trainer)[own_name] = std::move(tensor);
  }
  return run;
}

/// No size in the config is more than the weights could have: nothing is allocated on the word of a
/// damaged file alone.
void check_sizes(const SavedRun& run) {
  int64_t values = 0;
  for (const auto& [name, tensor] : run.weights)
    values += static_cast<int64_t>(tensor.bytes.size()) / size_of(tensor.dtype);
  const shiftgrad::EncoderDecoderConfig& model = run.model;
  for (int64_t size :
       {model.d_model, model.n_encoder_layer, model.n_decoder_layer, model.n_head, model.d_inner})
    require(size <= values, "a model with a size of ", size, " cannot have ", values, " weights");
}

/// action(), its errors beginning with `source`.
template <class Action>
auto naming(const std::string& source, Action action) {
  try {
    return action();
  } catch (const shiftgrad::Error& error) {
    fail(source, ": ", error.what());
  } catch (const std::bad_alloc&) {
    fail(source, ": the model does not fit into memory");
  }
}

}  // namespace

void write_run(const std::string& path, const SavedRun& run) {
  shiftgrad::SafeTensors content{run.weights,
                                 {{"format", format},
                                  {"model", config_to_json(run.model)},
                                  {"source_symbols", json(run.source_symbols.known()).dump()},
                                  {"target_symbols", json(run.target_symbols.known()).dump()},
                                  {"step", std::to_string(run.step)},
                                  {"training", run.flags.to_json()}}};
  auto add_loss = [&](const char* key, std::optional<double> loss) {
    if (loss && std::isfinite(*loss)) content.metadata[key] = json(*loss).dump();
  };
  add_loss("train_loss", run.train_loss);
  add_loss("validation_loss", run.validation_loss);
  for (const auto& [name, tensor] : run.trainer)
    content.tensors[std::string(trainer_prefix) + name] = tensor;
  write_safetensors(path, content);
}

SavedRun load_run(const std::string& out_dir, const std::string& name) {
  char_lm::check_choice("--checkpoint", name, "best|last");
  std::string path = char_lm::RunFolder{out_dir}.checkpoint(name);
  shiftgrad::SafeTensors content = shiftgrad::read_safetensors(path);
  return naming(path, [&] { return run_from(std::move(content), path); });
}

shiftgrad::EncoderDecoder make_model(const SavedRun& run) {
  shiftgrad::EncoderDecoder model = naming(run.source, [&] {
    check_sizes(run);
    shiftgrad::Random random;
    return shiftgrad::EncoderDecoder(run.model, random);
  });
  load_state_dict(model, run.weights, run.source);
  return model;
}

Line read_line(const std::string& line, const Symbols& symbols, int64_t longest) {
  if (line.empty()) return {{}, "nothing on it"};
  if (auto error = utf8_error(line)) return {{}, error};
  auto [tokens, unknown] = symbols.encode(line);
  const char* unit = symbols.unit() == Unit::word ? "word " : "character ";
  if (unknown) return {{}, text("the model does not know the ", unit, shown(*unknown))};
  if (tokens.empty()) return {{}, "no word on it"};
  if (std::ssize(tokens) > longest)
    return {{}, text(tokens.size(), " tokens, but the model takes at most ", longest)};
  return {std::move(tokens), {}};
}

std::vector<shiftgrad::TokenPair> encode(std::span<const Row> rows, const Symbols& source,
                                         const Symbols& target, int64_t longest,
                                         const std::string& place, BadRows bad) {
  std::vector<shiftgrad::TokenPair> pairs;
  for (const Row& row : rows) {
    Line from = read_line(row.source, source, longest);
    // The target stands behind its begin.
    Line to = read_line(row.target, target, longest - 1);
    if (from.error) {
      report_bad_row(place, row.line, "source: " + *from.error, bad);
    } else if (to.error) {
      report_bad_row(place, row.line, "target: " + *to.error, bad);
    } else {
      pairs.push_back({std::move(from.tokens), std::move(to.tokens)});
    }
  }
  require(!pairs.empty(), place, ": no rows that the model can read");
  return pairs;
}

}  // namespace seq2seq
