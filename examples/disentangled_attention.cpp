// DeBERTa's disentangled attention (He et al. 2021), which learns to follow pointers: each token
// is the number of places, -4 to 4, to the token that it has to name. Distances have keys, which
// queries ask, and queries, which ask keys,
//
//     score_ij = (q_i·k_j + q_i·k_δ + k_j·q_δ) / √(3D)
//
// and far ones share a bucket, as the authors' code for version 2 has it.

#include <shiftgrad/shiftgrad.h>

#include <algorithm>
#include <cmath>
#include <iostream>

using namespace shiftgrad;

/// Returns a distance up to `buckets` / 2 as it is, and a larger one by its logarithm.
int32_t bucket_of(int32_t delta, double buckets, double farthest) {
  double near = buckets / 2, distance = std::abs(static_cast<double>(delta));
  if (distance <= near) return delta;
  double share = std::log(distance / near) / std::log((farthest - 1) / near);
  auto far = static_cast<int32_t>(std::ceil(share * (near - 1)) + near);
  return delta < 0 ? -far : far;
}

struct DisentangledAttention : Attention {
  static constexpr int32_t buckets = 16, farthest = 64;
  Tensor distances;  // [2·buckets, C]

  DisentangledAttention(int64_t d_model, int64_t n_head, Random& random) {
    build("disentangled_attention", d_model, n_head, std::nullopt, true, random);
    distances = normal_parameter({2 * buckets, d_model}, random);
    causal = false;
  }

  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    const auto& [q, k, v, _] = heads;  // [B, H, T, D], and [B, H, K, D] twice
    int32_t T = q.size(2), K = k.size(2);
    Tokens rows{{1, K + T - 1}, {}};
    for (int32_t delta = K - 1; delta > -T; --delta)
      rows.values.push_back(
          std::clamp(bucket_of(delta, buckets, farthest) + buckets, 0, 2 * buckets - 1));
    Heads projected = this->heads(embedding(distances, rows), {});  // [1, H, K + T - 1, D]
    auto by_distance = [](const Tensor& x) { return transpose(select(x, 0, 0), 0, 1); };
    RelativeAttention score{.query = q, .key = k, .value = v};  // q_i·k_j
    score.position_rows = by_distance(projected.key);           // q_i·k_δ
    score.position_queries = by_distance(projected.query);      // k_j·q_δ
    score.factor = static_cast<Scalar>(1 / std::sqrt(3 * d_head));
    return score;
  }

  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("distances", distances);
  }
};

struct Pointers : Module {
  static constexpr int64_t symbols = 9, d_model = 32;
  Tensor vectors;  // [symbols, C]
  DisentangledAttention attention;
  Linear output;

  explicit Pointers(Random& random)
      : vectors(normal_parameter({symbols, d_model}, random)),
        attention(d_model, 4, random),
        output(d_model, symbols, true, random) {}

  void visit(Visitor& visitor) const override {
    visitor("vectors", vectors);
    visitor("attention", attention);
    visitor("output", output);
  }
};

int main() {
  initialize();
  constexpr int64_t B = 16, T = 32;
  Random random;
  Pointers model(random);
  Optimizer optimizer(parameters(model), AdamW{});
  for (int step = 1; step <= 600; ++step) {
    Tokens tokens{{B, T}, std::vector<int32_t>(B * T)}, answers = tokens;
    for (int32_t& token : tokens.values)
      token = static_cast<int32_t>(random.uniform() * Pointers::symbols);
    for (int64_t n = 0; n < B * T; ++n) {
      int64_t place = std::clamp<int64_t>(n % T + tokens.values[n] - 4, 0, T - 1);
      answers.values[n] = tokens.values[n / T * T + place];
    }
    Tape tape;
    Context context;
    Tensor y = model.attention(embedding(model.vectors, tokens), context);  // [B, T, C]
    Tensor loss = cross_entropy(model.output(y), answers);
    optimizer.zero_gradients();
    tape.backward(loss);
    optimizer.step(2e-2);
    if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss.item() << '\n';
  }
}
