// A variant of attention of your own, in a language model that learns to count. As in T5 (Raffel et
// al. 2020, section 2.1), each head learns a bias for each bucket of distances; here these are the
// powers of two: 0, 1, 2 to 3, 4 to 7, 8 to 15, and all from 16 on.
//
//     score_ij = q_i·k_j / √D + bias_{bucket(δ)},   key j being δ tokens behind query i

#include <shiftgrad/shiftgrad.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace shiftgrad;

struct BucketAttention : Attention {
  static constexpr int64_t buckets = 6;
  Tensor bias;  // [buckets, H]

  BucketAttention(int64_t d_model, int64_t n_head, Random& random) {
    build("bucket_attention", d_model, n_head, std::nullopt, true, random);
    bias = constant_parameter({buckets, n_head}, 0);
  }

  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    const auto& [q, k, v, _] = heads;  // [B, H, T, D], and [B, H, K, D] twice
    int64_t K = k.size(2);
    Tokens bucket{{1, K}, {}};  // of each key, the farthest first
    for (int64_t delta = K - 1; delta >= 0; --delta)
      bucket.values.push_back(std::min<int32_t>(std::bit_width<uint64_t>(delta), buckets - 1));
    Tensor by_distance = reshape(embedding(bias, bucket), {K, n_head});  // [K, H]

    // The layer divides the score by √D, and that must not change the bias.
    RelativeAttention score{.query = q, .key = k, .value = v};
    score.position_scores = by_distance * std::sqrt(d_head);
    return score;
  }

  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("bias", bias);
  }
};

/// "0 1 2 3 4 …"
std::vector<int32_t> counting(int numbers) {
  std::vector<int32_t> bytes;
  for (int n = 0; n < numbers; ++n)
    for (char byte : std::to_string(n) + ' ') bytes.push_back(byte);
  return bytes;
}

/// A language model of such mixers that has learned to count.
LanguageModel trained(const MixerMaker& mixer) {
  Random random{.seed = 1};
  LanguageModel model({.vocab_size = 128, .d_model = 32, .n_layer = 2, .n_head = 2, .d_inner = 64},
                      random, mixer);
  std::vector<int32_t> text = counting(1000);
  Trainer trainer(model, text, {},
                  {.batch_size = 8,
                   .block_size = 32,
                   .batches = BatchType::blocks,
                   .max_iters = 300,
                   .learning_rate = 1e-2});
  trainer.run({.on_step = [](const StepReport& report) {
    if (report.step % 100 == 0)
      std::cout << "step " << report.step << ": loss " << report.loss << '\n';
  }});
  return model;
}

int main() try {
  initialize();
  std::cout << "Attention that is blind to order\n";
  trained([](Random& random) {
    return std::make_unique<MultiHeadAttention>(MultiHeadAttentionConfig{}, Width{32, 2}, random);
  });
  std::cout << "Attention with a bias for each bucket\n";
  LanguageModel model =
      trained([](Random& random) { return std::make_unique<BucketAttention>(32, 2, random); });

  std::cout << "The biases, a row for each head\n";
  for (const Parameter& parameter : parameters(model))
    if (parameter.name.ends_with("mixer.bias"))
      std::cout << parameter.name << ": " << transpose(parameter.value) << '\n';
} catch (const std::exception& error) {
  std::cerr << "own_mixer: " << error.what() << '\n';
  return 1;
}
