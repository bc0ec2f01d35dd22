#pragma once

#include <string>

#include "nn/linear.h"
#include "nn/models/sequence_model.h"
#include "nn/multi_head_attention.h"
#include "ops/embedding.h"

namespace shiftgrad::test {

/// A model as someone outside would write it: one layer of attention, and nothing but what
/// SequenceModel asks for.
struct OwnModel : SequenceModel {
  int64_t vocab_size;
  double dropout = 0;
  Tensor table;
  MultiHeadAttention attention;
  Linear output;

  OwnModel(int64_t vocab_size, Random& random)
      : vocab_size(vocab_size),
        table(normal_parameter({vocab_size, 8}, random, 1)),
        attention({.position = AttentionPosition::alibi}, {8, 2}, random),
        output(8, vocab_size, true, random) {
    name = "own";
    for (Tensor weight : {attention.qkv.weight, attention.output.weight, output.weight})
      for (int64_t n = 0; n < weight.count(); ++n) weight.mutable_data()[n] *= 20;
  }

  ModelTraits traits() const override { return {.vocab_size = vocab_size, .d_model = 8}; }
  std::string config_text() const override {
    return R"({"vocab_size": )" + std::to_string(vocab_size) + "}";
  }
  ModelOutput forward(const Tokens& tokens, const Memory&, Context& context) const override {
    Tensor x = context.drop(embedding(table, tokens), dropout);  // [B, T, 8]
    return {.logits = output(attention(x, Tensor(), context))};  // [B, T, V]
  }
  void visit(Visitor& visitor) const override {
    visitor("table", table, Decay::yes);
    visitor("attention", attention);
    visitor("output", output);
  }
};

inline OwnModel own_model(uint64_t seed = 5, int64_t vocab_size = 7) {
  Random random{.seed = seed};
  return {vocab_size, random};
}

}  // namespace shiftgrad::test
