#pragma once

// A task of pairs: to turn a sequence around.

#include <vector>

#include "optim/pairs.h"
#include "tests/support/translators.h"

namespace shiftgrad::test {

constexpr TargetEnds reversal_ends{.begin = 0, .end = 1};

/// Sequences of the symbols 2 … 5 and, as their targets, the same from the end to the start.
inline std::vector<TokenPair> reversals(int64_t count, uint64_t seed) {
  std::vector<TokenPair> pairs;
  for (std::vector<int32_t> source : random_sequences(count, 5, 4, seed)) {
    for (int32_t& token : source) token += 2;
    pairs.push_back({source, {source.rbegin(), source.rend()}});
  }
  return pairs;
}

/// An encoder-decoder that can learn them.
inline EncoderDecoder small_translator(double dropout = 0) {
  TranslatorRow row(R"("shaw_attention", "max_distance": 4)",
                    R"("shaw_attention", "max_distance": 4)");
  row.config.d_model = 16;
  row.config.d_inner = 32;
  row.config.dropout = row.config.attention_dropout = dropout;
  Random random{.seed = 3};
  return {row.config, random};
}

}  // namespace shiftgrad::test
