#pragma once

// What the files of all trainings have in common, whatever the model: numbers in the metadata, and
// beside the weights, under names of the form "trainer.NAME", what it takes to go on.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <new>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/errors.h"
#include "nn/safetensors.h"

namespace shiftgrad {

/// The metadata of a file, each text checked before it is believed: all throw, naming the key, what
/// is missing or not as it should be.
class Metadata {
 public:
  explicit Metadata(const std::map<std::string, std::string>& texts) : texts_(texts) {}

  const std::string& at(const char* key) const;
  nlohmann::json json(const char* key) const;
  /// A number of updates.
  int64_t count(const char* key) const;
  /// Nothing where the key is missing.
  std::optional<double> loss(const char* key) const;

 private:
  const std::map<std::string, std::string>& texts_;
};

/// Writes a loss for `Metadata::loss`, if it was measured and is finite.
void set_loss(std::map<std::string, std::string>& metadata, const char* key,
              std::optional<double> loss);

using NamedTensors = std::map<std::string, StoredTensor>;

/// Weights and what is the trainer's in one map, and apart again.
NamedTensors joined(const NamedTensors& weights, const NamedTensors& trainer);
void separate(NamedTensors tensors, NamedTensors& weights, NamedTensors& trainer);

/// Throws when a size of a model is more than the weights could have: nothing is allocated on the
/// word of a damaged file alone.
void check_sizes(const NamedTensors& weights, std::initializer_list<int64_t> sizes);

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
