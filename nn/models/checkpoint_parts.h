#pragma once

// What the files of all trainings have in common, whatever the model: a RunState, its numbers in
// the metadata and its tensors beside the weights, under names of the form "trainer.NAME".

#include <cstdint>
#include <map>
#include <new>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/nn/models/run_state.h"

namespace shiftgrad {

/// The metadata of a file, each text checked before it is believed: all throw, naming the key, what
/// is missing or not as it should be.
class Metadata {
 public:
  explicit Metadata(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  const std::string& at(const char* key) const;
  nlohmann::json json(const char* key) const;

 private:
  const std::map<std::string, std::string>& texts_;
};

/// Writes the state beside weights; of the losses, those that are finite.
void add_state(SafeTensors& content, const RunState& state);

/// Takes it from the tensors again, so that the weights are left. Throws as Metadata does.
RunState take_state(SafeTensors& content);

/// action(), its errors beginning with `source`.
template <class Action>
auto naming(const std::string& source, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    fail(source, ": ", error.what());
  } catch (const std::bad_alloc&) {
    fail(source, ": the model does not fit into memory");
  }
}

}  // namespace shiftgrad
