#pragma once

#include <CLI/CLI.hpp>

#include "run.h"
#include "shiftgrad/core/machine/parallel.h"

namespace seq2seq {

/// How targets are chosen, for eval and translate.
struct DecodingFlags {
  shiftgrad::BeamOptions beam{};
  shiftgrad::Sampling sampling{.temperature = 0};
  int64_t max_length = 100;
  uint64_t seed = 0;
  int64_t batch_size = 64;
  int threads = 0;

  /// Adds them to a command.
  void add_to(CLI::App& app);
};

/// A run that writes targets for sources.
class Translator {
 public:
  /// Throws, naming the flag, at what is out of range.
  Translator(const SavedRun& run, const DecodingFlags& flags);

  /// The likeliest target of each, or one drawn at a temperature above 0. `first` is the number of
  /// the first source in the whole input: equal seeds and numbers draw alike.
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
