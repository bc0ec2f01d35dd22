#pragma once

// A checkpoint is a language model that can be made anew from its file alone
// (nn/models/run_file.h). The metadata are
//
//     format       "shiftgrad-1"
//     model        the LanguageModelConfig as JSON, with `own_mixer` where the mixer is the
//                  program's own
//     vocabulary   [10, 32, …]
//     training     the flags it was trained with, as JSON

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/models/language_model.h"
#include "nn/models/run_file.h"
#include "nn/models/vocabulary.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A language model with its vocabulary, as its file has it.
struct Checkpoint {
  /// The config from which the model is made.
  LanguageModelConfig model{};
  /// The vocabulary: token n stands for vocabulary[n], which is a byte or a code point, as
  /// `training` says. `vocabulary_of` makes a Vocabulary of it.
  std::vector<int32_t> vocabulary{};
  /// The numbers of the run, and what resuming it needs.
  RunState state{};
  /// Flags of the training as a JSON object. Its content is up to the program, except for `vocab`,
  /// which says what the vocabulary consists of: bytes, all_bytes or characters.
  std::string training = "{}";
  /// The parameters by name.
  std::map<std::string, StoredTensor> weights{};
  /// The version of the library that wrote the file, or an empty text; write_checkpoint names its
  /// own.
  std::string version{};
};

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
/// Refuses what could not be read back: what read_checkpoint refuses, and weights that do not fit
/// the config, unless the model has a mixer of the program's own.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Returns the file of a run as a checkpoint. Throws when it is not one.
Checkpoint as_checkpoint(RunFile file);

/// Reads a checkpoint. Throws one line that begins with the path when the file is missing, cut off,
/// or not a checkpoint. If its format is a later one, the error names it. Every format that was
/// ever written stays readable.
Checkpoint read_checkpoint(const std::string& path);

/// Returns the checkpoint's vocabulary, in the unit that `training` names as `vocab`. Where it
/// names none, the unit is the code point, as in Vocabulary::of, but the byte for all 256 bytes,
/// and for bytes of a char_lm that had no --vocab yet. Throws an error that begins with `source`
/// when that is no unit, or the codes are none of it.
Vocabulary vocabulary_of(const Checkpoint& checkpoint, const std::string& source = "checkpoint");

/// Returns the model with the checkpoint's weights. Fields of the config on which no weight's shape
/// depends, such as clamp_len, may have been changed. A model with a mixer of the program's own
/// needs that mixer's maker; no other model accepts one. Throws one line that begins with `source`
/// when the weights do not fit the config.
LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source,
                         const MixerMaker& own_mixer = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
