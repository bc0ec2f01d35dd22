#include "nn/models/save.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/io/json.h"
#include "nn/models/checkpoint_parts.h"
#include "nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Reads the file, whose config text may be any JSON object.
SafeTensors read_model(const std::string& path) {
  SafeTensors content = read_safetensors(path);
  in_name_of(path, [&] {
    Metadata metadata(content.metadata);
    if (!metadata.is_of(language_model_format)) metadata.check_format(own_model_format);
    require(metadata.json("model").is_object(), "model is not a JSON object");
  });
  return content;
}

}  // namespace

void save(const SequenceModel& model, const std::string& path, const RunState& state) {
  SafeTensors content{state_dict(model),
                      {{"format", own_model_format}, {"model", model.config_text()}}};
  in_name_of(path, [&] {
    require(Metadata(content.metadata).json("model").is_object(), model.name,
            ": config_text is not a JSON object");
    in_name_of(model.name, [&] { add_state(content, state); });
  });
  write_safetensors(path, content);
}

RunState load(SequenceModel& model, const std::string& path) {
  SafeTensors content = read_model(path);
  const std::string& saved = content.metadata.at("model");
  bool checkpoint = Metadata(content.metadata).is_of(language_model_format);
  require(saved == model.config_text(), path, ": a model of the config ", shown(saved),
          ", expected ", shown(model.config_text()),
          checkpoint ? "; read it with make_model(read_checkpoint(path), path)" : "");
  RunState state = in_name_of(path, [&] { return take_state(content); });
  load_state_dict(model, content.tensors, path);
  return state;
}

std::string saved_config(const std::string& path) { return read_model(path).metadata.at("model"); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
