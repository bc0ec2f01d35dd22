// Runs of char_lm and seq2seq, read and written by these programs' own functions.

#include "runs.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/io/safetensors.h"
#include "examples/apps/char_lm/run_folder.h"
#include "examples/apps/runs/writers.h"
#include "examples/apps/seq2seq/run.h"
#include "nn/models/config.h"

namespace nb = nanobind;

namespace {

using shiftgrad::require;

/// Throws unless a vocabulary has all of these tokens.
void check_tokens(const std::vector<int64_t>& tokens, int64_t known) {
  for (int64_t token : tokens)
    require(0 <= token && token < known, "decode: token ", token, ", expected 0 to ", known - 1);
}

std::string_view view(const nb::bytes& text) { return {text.c_str(), text.size()}; }

std::vector<int32_t> encode(const char_lm::Vocabulary& vocabulary, const nb::bytes& text) {
  return vocabulary.encode(view(text), "encode");
}

nb::bytes decode(const char_lm::Vocabulary& vocabulary, const std::vector<int64_t>& tokens) {
  check_tokens(tokens, vocabulary.size());
  std::string text;
  for (int64_t token : tokens) text += vocabulary.decode(static_cast<int32_t>(token));
  return nb::bytes(text.data(), text.size());
}

/// The symbols of one side of an encoder-decoder, and its longest line in tokens.
struct Side {
  seq2seq::Symbols symbols;
  int64_t longest;

  std::vector<int32_t> encode(const nb::bytes& text) const {
    seq2seq::Line line = seq2seq::read_line(std::string(view(text)), symbols, longest);
    require(!line.error, "encode: ", line.error.value_or(""));
    return line.tokens;
  }
  nb::bytes decode(const std::vector<int64_t>& tokens) const {
    check_tokens(tokens, symbols.tokens());
    std::string text = symbols.decode({tokens.begin(), tokens.end()});
    return nb::bytes(text.data(), text.size());
  }
};

/// Returns the arguments from which Python makes the vocabulary, after the name of its class.
nb::tuple parts(const std::string& unit, const char_lm::Vocabulary& vocabulary) {
  return nb::make_tuple("Characters", unit, vocabulary.codes());
}

nb::tuple parts(const std::string& unit, const seq2seq::Symbols& symbols, int64_t longest) {
  return nb::make_tuple("Symbols", unit, symbols.known(), longest);
}

/// Returns pairs of a name and a torch.Tensor over the parameter's memory.
nb::list parameters_of(const shiftgrad::Module& model) {
  nb::list result;
  for (const auto& [name, value, decay] : parameters(model)) {
    nb::capsule owner(new shiftgrad::Tensor(value),
                      [](void* kept) noexcept { delete static_cast<shiftgrad::Tensor*>(kept); });
    std::vector<size_t> shape(value.shape().begin(), value.shape().end());
    nb::ndarray<nb::pytorch, float> array(value.mutable_data(), shape.size(), shape.data(), owner);
    result.append(nb::make_tuple(name, array.cast()));
  }
  return result;
}

/// Returns the config with its rates of dropout, which config_to_json leaves out.
template <class Config>
nb::dict config_of(const Config& config) {
  auto parsed = nb::module_::import_("json").attr("loads")(config_to_json(config));
  auto result = nb::cast<nb::dict>(parsed);
  if (config.dropout > 0) result["dropout"] = config.dropout;
  if (config.attention_dropout > 0) result["attention_dropout"] = config.attention_dropout;
  return result;
}

nb::dict language_model(const std::string& path) {
  char_lm::SavedRun run = char_lm::load_checkpoint(path);
  auto model = make_model(run.checkpoint, run.source);
  run.checkpoint.model.dropout = run.flags.model.dropout;
  run.checkpoint.model.attention_dropout = run.flags.model.attention_dropout();
  auto options = generation_options(run, {});
  nb::dict result;
  result["name"] = shiftgrad::LanguageModelConfig::type;
  result["config"] = config_of(run.checkpoint.model);
  result["parameters"] = parameters_of(model);
  result["flags"] = run.flags.to_json();
  result["vocabulary"] = parts(run.flags.vocab, run.vocabulary);
  if (options.mem_len != shiftgrad::unlimited) result["mem_len"] = options.mem_len;
  if (options.positions != shiftgrad::unlimited) result["positions"] = options.positions;
  return result;
}

nb::dict encoder_decoder(const std::string& path) {
  seq2seq::SavedRun run = seq2seq::load_checkpoint(path);
  auto model = make_model(run);
  run.model.dropout = run.model.attention_dropout = run.flags.model.dropout;
  int64_t longest = run.flags.model.max_len;
  nb::dict result;
  result["name"] = shiftgrad::EncoderDecoderConfig::type;
  result["config"] = config_of(run.model);
  result["parameters"] = parameters_of(model);
  result["flags"] = run.flags.to_json();
  result["source_vocabulary"] = parts(run.flags.source_tokens, run.source_symbols, longest);
  // A target follows its begin.
  result["target_vocabulary"] = parts(run.flags.target_tokens, run.target_symbols, longest - 1);
  return result;
}

/// Reads the checkpoint in a file, or the best one in a folder.
nb::dict load_run(const nb::bytes& run) {
  std::string path = apps::checkpoint_of(std::string(view(run)), "best");
  std::string format = shiftgrad::list_safetensors(path).metadata["format"];
  require(!format.starts_with("shiftgrad-model-"), path,
          ": a model of a program's own, which only that program can make; expected a run of "
          "char_lm or seq2seq");
  nb::dict result =
      format.starts_with("shiftgrad-seq2seq-") ? encoder_decoder(path) : language_model(path);
  result["notes"] = apps::take_notes_on_writers();
  return result;
}

/// Names and values of parameters, as Python hands them over.
using Values = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Weights = std::vector<std::pair<std::string, Values>>;

std::map<std::string, shiftgrad::StoredTensor> stored(const Weights& parameters) {
  std::map<std::string, shiftgrad::StoredTensor> result;
  for (const auto& [name, array] : parameters) {
    shiftgrad::Dims shape;
    for (size_t axis = 0; axis < array.ndim(); ++axis)
      shape.push_back(static_cast<int64_t>(array.shape(axis)));
    auto values = std::as_bytes(std::span<const float>(array.data(), array.size()));
    result[name] = {shiftgrad::DType::f32, shape,
                    shiftgrad::Bytes(values, std::make_shared<Values>(array))};
  }
  return result;
}

/// Writes a checkpoint that char_lm reads.
void save_language_model(const nb::bytes& path, const std::string& config,
                         const Weights& parameters, const std::string& flags,
                         const char_lm::Vocabulary& vocabulary) {
  auto model = shiftgrad::config_from_json<shiftgrad::LanguageModelConfig>(config);
  auto training = char_lm::TrainFlags::from_json(flags, "flags").to_json();
  shiftgrad::write_checkpoint(std::string(view(path)), {.model = model,
                                                        .vocabulary = vocabulary.codes(),
                                                        .training = training,
                                                        .weights = stored(parameters)});
}

/// Writes a run that seq2seq reads.
void save_encoder_decoder(const nb::bytes& path, const std::string& config,
                          const Weights& parameters, const std::string& flags, const Side& source,
                          const Side& target) {
  std::string file(view(path));
  seq2seq::write_run(file,
                     {.source = file,
                      .flags = seq2seq::TrainFlags::from_json(flags, "flags"),
                      .model = shiftgrad::config_from_json<shiftgrad::EncoderDecoderConfig>(config),
                      .source_symbols = source.symbols,
                      .target_symbols = target.symbols,
                      .weights = stored(parameters)});
}

}  // namespace

void bind_runs(nb::module_& module) {
  module.def("load_run", load_run);
  module.def("save_language_model", save_language_model);
  module.def("save_encoder_decoder", save_encoder_decoder);
  module.attr("target_ends") = nb::make_tuple(seq2seq::target_ends.begin, seq2seq::target_ends.end);
  nb::class_<char_lm::Vocabulary>(module, "Characters")
      .def("__init__",
           [](char_lm::Vocabulary* place, const std::string& unit, std::vector<int32_t> codes) {
             new (place)
                 char_lm::Vocabulary(char_lm::unit_of(unit), std::move(codes), "Characters");
           })
      .def("__len__", &char_lm::Vocabulary::size)
      .def("encode", encode)
      .def("decode", decode);
  nb::class_<Side>(module, "Symbols")
      .def("__init__",
           [](Side* place, const std::string& unit, std::vector<std::string> known,
              int64_t longest) {
             new (place)
                 Side{{seq2seq::unit_named("unit", unit), std::move(known), seq2seq::first_symbol},
                      longest};
           })
      .def("__len__", [](const Side& side) { return side.symbols.tokens(); })
      .def("encode", &Side::encode)
      .def("decode", &Side::decode);
}
