#pragma once

// What all training files have in common, whatever the model. They hold a RunState: its numbers are
// in the metadata, and its tensors lie beside the weights under names of the form "trainer.NAME".

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/errors.h"
#include "nn/models/run_state.h"

namespace shiftgrad {

/// Formats of the files that the library and its programs write, as the metadata name them.
constexpr const char* language_model_format = "shiftgrad-1";
constexpr const char* own_model_format = "shiftgrad-model-1";
constexpr const char* seq2seq_format = "shiftgrad-seq2seq-1";

/// The metadata of a file. Each value is checked before it is used: every function throws, naming
/// the key, when the value is missing or malformed.
class Metadata {
 public:
  explicit Metadata(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  /// Whether the file says that it is of this format.
  bool is_of(const std::string& format) const;
  /// Throws unless it is. The error names what the file has, what reads it, and what was expected.
  void check_format(const std::string& expected) const;
  const std::string& at(const char* key) const;
  nlohmann::json json(const char* key) const;

 private:
  const std::map<std::string, std::string>& texts_;
};

/// Adds the state to a file's content, beside the weights. Only finite losses are written. Throws
/// when a weight has a name that the trainer's tensors have.
void add_state(SafeTensors& content, const RunState& state);

/// Removes the state from a file's content and returns it, which leaves the weights. Throws as
/// Metadata does.
RunState take_state(SafeTensors& content);

}  // namespace shiftgrad
