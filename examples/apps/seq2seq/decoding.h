#pragma once

#include "core/machine/parallel.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/precision_flag.h"
#include "run.h"

namespace seq2seq {

/// The flags of eval and translate that say how targets are chosen.
struct DecodingFlags {
  shiftgrad::BeamOptions beam{};
  shiftgrad::Sampling sampling{.temperature = 0};
  int64_t max_length = 100;
  uint64_t seed = 0;
  int64_t batch_size = 64;
  apps::PrecisionFlag precision{};
  int threads = 0;

  /// Adds the flags to a command.
  void add_to(CLI::App& app);
};

/// Returns how a search of this program begins and ends: with targets of at most `max_length`
/// tokens, and of no more than the model can write.
shiftgrad::DecodingOptions decoding_options(const shiftgrad::EncoderDecoder& model,
                                            int64_t max_length);

/// A run that writes targets for sources.
class Translator {
 public:
  /// Loads the model. Throws, naming the flag, when a flag is out of range.
  Translator(const SavedRun& run, const DecodingFlags& flags);

  /// Returns the likeliest target of each source, or a drawn one if the temperature is above 0.
  /// `first` is the index of the first source in the whole input. Equal seeds and indices give
  /// equal draws.
  std::vector<std::string> translate(const std::vector<std::vector<int32_t>>& sources,
                                     int64_t first) const;

  const shiftgrad::EncoderDecoder& model() const { return model_; }

 private:
  DecodingFlags flags_;
  std::shared_ptr<shiftgrad::ThreadLimit> threads_;
  Symbols symbols_;
  shiftgrad::EncoderDecoder model_;
  shiftgrad::DecodingOptions options_;
};

}  // namespace seq2seq
