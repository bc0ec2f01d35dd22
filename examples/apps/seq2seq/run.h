#pragma once

// A trained model as one safetensors file. The weights are stored under their parameters' names,
// and what is needed to resume training under names that begin with `trainer.`. The metadata is
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

#include "nn/models/beam_search.h"
#include "nn/models/encoder_decoder.h"
#include "nn/models/run_file.h"
#include "optim/pairs.h"
#include "symbols.h"
#include "train_flags.h"

namespace seq2seq {

/// Tokens that begin and end a target. The tokens of its symbols follow them.
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

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
void write_run(const std::string& path, const SavedRun& run);

/// Reads the checkpoint in a file. Throws one line that begins with the path when the file is
/// missing, broken, or not written by this program.
SavedRun load_checkpoint(const std::string& path);

/// Reads the checkpoint of a run, which apps::checkpoint_of finds.
SavedRun load_run(const std::string& run, const std::string& name);

/// Returns the model with the run's weights. Throws, in the run's name, when they do not
/// fit or are not finite.
shiftgrad::EncoderDecoder make_model(const SavedRun& run);

/// The tokens of a line, or the reason why the model cannot read it: a symbol that it does not
/// know, or another one.
struct Line {
  std::vector<int32_t> tokens;
  std::optional<std::string> error;
  bool has_unknown = false;
};
Line read_line(const std::string& text, const Symbols& symbols, int64_t longest);

/// Returns the tokens of the rows. At a row that the model cannot read, throws or reports an error
/// that names `place`; that of an unknown symbol ends with `remedy`. The target is checked only for
/// what training needs.
std::vector<shiftgrad::TokenPair> encode(std::span<const Row> rows, const Symbols& source,
                                         const Symbols& target, int64_t longest,
                                         const std::string& place, BadRows bad,
                                         const std::string& remedy = "");

}  // namespace seq2seq
