#pragma once

#include <string>
#include <vector>

#include "nn/language_model.h"

namespace char_lm {

/// The flags that shape a model, nanoGPT's names.
struct ModelFlags {
  std::string model = "transformer_xl";
  int64_t n_layer = 4;
  int64_t n_head = 4;
  int64_t n_embd = 128;
  int64_t block_size = 64;
  double dropout = 0;
};

/// A kind of model that --model can name.
struct ModelKind {
  std::string name;
  std::string description;
  /// Reads the text in order and remembers; else it sees blocks from anywhere.
  bool has_memory;
  shiftgrad::LanguageModelConfig (*config)(const ModelFlags& flags);
};

const std::vector<ModelKind>& model_kinds();

/// Throws when there is no such kind, and lists those there are.
const ModelKind& model_kind(const std::string& name);

/// Throws, naming the flag, when the flags make no model.
shiftgrad::LanguageModelConfig model_config(const ModelFlags& flags, int64_t vocab_size);

}  // namespace char_lm
