#pragma once

// A trained model as one safetensors file: the weights under their parameters' names, what it takes
// to go on training under names that begin with `trainer.`, and as metadata
//
//     format                            "shiftgrad-seq2seq-1"
//     model                             EncoderDecoderConfig as JSON
//     source_symbols, target_symbols    lists of texts
//     step, train_loss, validation_loss
//     training                          the flags it was trained with, as JSON

#include <map>
#include <optional>
#include <span>
#include <string>

#include "shiftgrad/nn/models/beam_search.h"
#include "shiftgrad/nn/models/encoder_decoder.h"
#include "shiftgrad/nn/models/run_state.h"
#include "shiftgrad/optim/pairs.h"
#include "symbols.h"
#include "train_flags.h"

namespace seq2seq {

/// The target's begin and end; its symbols follow.
constexpr shiftgrad::TargetEnds target_ends{.begin = 0, .end = 1};
constexpr int32_t first_symbol = 2;

struct SavedRun {
  std::string source;
  TrainFlags flags;
  shiftgrad::EncoderDecoderConfig model;
  Symbols source_symbols, target_symbols;
  shiftgrad::RunState state{};
  std::map<std::string, shiftgrad::StoredTensor> weights{};
};

/// Writes the file whole, or leaves what was there and throws one line that begins with the path.
void write_run(const std::string& path, const SavedRun& run);

/// Throws one line that begins with the path when the file is missing, broken, or not by this
/// program.
SavedRun load_checkpoint(const std::string& path);

/// The checkpoint of a run, named as char_lm::checkpoint_of has it.
SavedRun load_run(const std::string& run, const std::string& name);

/// The model with the run's weights. Throws in its name when they do not fit.
shiftgrad::EncoderDecoder make_model(const SavedRun& run);

/// A line's tokens. Gives what is wrong with it where the model cannot read it.
struct Line {
  std::vector<int32_t> tokens;
  std::optional<std::string> error;
};
Line read_line(const std::string& text, const Symbols& symbols, int64_t longest);

/// The tokens of the rows. Throws, or skips, those that the model cannot read, in the name of
/// `place`; of the target is asked only what training needs.
std::vector<shiftgrad::TokenPair> encode(std::span<const Row> rows, const Symbols& source,
                                         const Symbols& target, int64_t longest,
                                         const std::string& place, BadRows bad);

}  // namespace seq2seq
