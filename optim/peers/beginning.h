#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "shiftgrad/core/io/safetensors.h"
#include "shiftgrad/nn/models/config.h"
#include "shiftgrad/nn/state_dict.h"
#include "shiftgrad/optim/peers/peers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a training begins with, as hashes under names. Peers compare them to find where they
/// differ.
class Beginning {
 public:
  /// Notes a field of a config, whose `fields` calls this.
  void operator()(const std::string& name, const std::string& value);
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const std::string& name, Number value) {
    add(name, std::as_bytes(std::span(&value, 1)));
  }
  void operator()(const std::map<std::string, StoredTensor>& tensors);

  /// Notes a model's config, dropout and weights.
  template <class Model>
  void model(const Model& model) {
    (*this)("model", config_to_json(model.config));
    (*this)("dropout", model.config.dropout);
    (*this)("attention_dropout", model.config.attention_dropout);
    (*this)(state_dict(model));
  }

  /// Throws, naming the first entry that differs, unless all peers have the same entries.
  void check_same(Peers& peers) const;

 private:
  void add(const std::string& name, std::span<const std::byte> bytes);

  std::vector<std::string> names_;
  std::vector<uint64_t> hashes_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
