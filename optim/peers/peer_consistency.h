#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/field.h"
#include "core/io/safetensors.h"
#include "nn/module.h"
#include "optim/peers/process_group.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What peers must have in common when a training begins, as hashes under names. Peers compare them
/// to find where they differ.
class PeerConsistency {
 public:
  /// Notes a value under a name. The `fields` of a config calls this.
  void operator()(const std::string& value, const Field& field, const auto&...) {
    add(field.name, std::as_bytes(std::span(value)));
  }
  /// Notes a number under a name, in the same way.
  template <class Number>
  requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void operator()(Number value, const Field& field, const auto&...) {
    add(field.name, std::as_bytes(std::span(&value, 1)));
  }
  /// Notes tensors under their own names.
  void operator()(const std::map<std::string, StoredTensor>& tensors);

  /// Notes a model: its config as text, its dropout rates and its weights.
  void model(const std::string& config, double dropout, double attention_dropout,
             const Module& model);

  /// Throws, naming the first entry that differs, unless all peers have the same entries.
  void check_same(ProcessGroup& peers) const;

 private:
  void add(const std::string& name, std::span<const std::byte> bytes);

  std::vector<std::string> names_;
  std::vector<uint64_t> hashes_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
