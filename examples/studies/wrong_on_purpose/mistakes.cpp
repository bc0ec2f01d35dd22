#include "mistakes.h"

#include <cmath>
#include <functional>
#include <vector>

namespace wrong_on_purpose {

namespace {

/// All tokens that a mixer has been fed.
struct Seen : CacheOf<Seen> {
  Tensor tokens;  // [B, M, C], undefined at the start

  void forget_newest(int64_t) override { require(false, "wrong_on_purpose: cannot forget"); }
  void reorder(const std::vector<int64_t>&) override {
    require(false, "wrong_on_purpose: cannot reorder");
  }
};

/// A mixer whose cache is its past inputs, of which it makes keys and values anew.
struct Mixer : Layer {
  Exhibit exhibit;
  Sizes sizes;
  Linear qkv, output;  // [3C, C], [C, C]

  Mixer(const Exhibit& exhibit, const Sizes& sizes, Random& random)
      : exhibit(exhibit),
        sizes(sizes),
        qkv(sizes.d_model, 3 * sizes.d_model, true, random),
        output(sizes.d_model, sizes.d_model, true, random) {
    name = "wrong_on_purpose";
  }

  bool made(Mistake mistake) const { return exhibit.mistake == mistake; }

  /// Returns y [B, T, C] of the last T of all tokens [B, K, C], before the output projection. With
  /// `cached` they are a piece that is fed to a cache.
  virtual Tensor mix(const Tensor& all, int64_t T, bool cached) const = 0;

  /// Returns q (0), k (1) or v (2) of the last `count` tokens.
  Tensor project(int part, const Tensor& all, int64_t count) const {
    int64_t C = sizes.d_model, K = all.size(1);
    return qkv.part(slice(all, 1, K - count, K), part * C, (part + 1) * C);
  }

  Tensor forward(const Tensor& x, const Past& past, Context&) const override {
    check_input(name, x, past.memory(), sizes.d_model);
    auto* seen = past.cache<Seen>();
    Tensor all = concat({seen ? seen->tokens : past.memory(), x}, 1);
    if (seen) seen->tokens = all.detach();
    return output(mix(all, x.size(1), seen));
  }

  std::unique_ptr<Cache> make_cache(int64_t) const override { return new_cache<Seen>(); }

  void visit(Visitor& visitor) const override {
    visitor("qkv", qkv);
    visitor("output", output);
  }
};

/// Returns [T, K], 1 where `is` holds for the distance δ from the query back to the key, else 0.
Tensor where(int64_t T, int64_t K, const std::function<bool(int64_t delta)>& is) {
  std::vector<Scalar> values;
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < K; ++j) values.push_back(is(K - T + i - j));
  return Tensor::from({T, K}, values);
}

Tensor past_and_present(int64_t T, int64_t K) {
  return where(T, K, [](int64_t delta) { return delta >= 0; });
}

Tensor softmax_along(const Tensor& x, int axis) {
  return transpose(softmax(transpose(x, axis, -1)), axis, -1);
}

struct MistakenAttention : Mixer {
  Tensor content_bias, position_bias;  // u, v [H, D]
  Linear position;                     // W_r [C, C]
  Tensor table, future;                // rows by distance, [rows, H, D]; Shaw's [2m + 1, D]
  int64_t H = sizes.n_head, D = sizes.d_model / H;

  MistakenAttention(const Exhibit& exhibit, const Sizes& sizes, Random& random)
      : Mixer(exhibit, sizes, random) {
    int64_t L = sizes.max_len;
    if (exhibit.form == Form::transformer_xl) {
      content_bias = constant_parameter({H, D}, 0);
      position_bias = constant_parameter({H, D}, 0);
      position = Linear(sizes.d_model, sizes.d_model, false, random);
    } else if (exhibit.form == Form::labml) {
      content_bias = constant_parameter({H, D}, 0);
      table = constant_parameter({2 * L, H, D}, 0);
    } else if (exhibit.form == Form::shaw) {
      table = normal_parameter({2 * sizes.max_distance + 1, D}, random);
    } else {
      table = normal_parameter({L, H, D}, random);
      future = normal_parameter({L, H, D}, random);
    }
  }

  Tensor mix(const Tensor& all, int64_t T, bool cached) const override {
    int64_t K = all.size(1);
    Tensor q = split_heads(project(0, all, T), H);  // [B, H, T, D]
    Tensor k = split_heads(project(1, all, K), H);  // [B, H, K, D]
    Tensor v = split_heads(project(2, all, K), H);  // [B, H, K, D]
    if (made(Mistake::queries_against_queries)) k = split_heads(project(0, all, K), H);

    Tensor u = content_bias.defined() ? unsqueeze(content_bias, 1) : Tensor::zeros({});
    Tensor by_distance = position_scores(q, K);
    if (made(Mistake::unscaled_positions))  // (q_i + u)·k_j / √D + (q_i + v)·r_δ
      by_distance = by_distance * Scalar(std::sqrt(D));
    Tensor scores = matmul(q + u, transpose(k)) + by_distance;  // [B, H, T, K]
    bool causal = exhibit.form != Form::two_way && !made(Mistake::no_mask);
    // A token that is fed alone needs no mask, and a cache feeds tokens alone, but for the first.
    if (made(Mistake::unmasked_prompt) && cached) causal = false;
    Tensor p = probabilities(scores * Scalar(1 / std::sqrt(D)), causal);
    return merge_heads(matmul(p, v));
  }

  Tensor position_scores(const Tensor& q, int64_t K) const {
    if (exhibit.form == Form::transformer_xl) return by_sinusoids(q, K);
    if (exhibit.form == Form::labml) return by_table(q, K);
    if (exhibit.form == Form::shaw) return by_clipped_distance(q, K);
    return both_ways(q, K);
  }

  /// (q_i + v)·W_r R_δ
  Tensor by_sinusoids(const Tensor& q, int64_t K) const {
    int64_t C = sizes.d_model;
    std::vector<int64_t> distances;
    for (int64_t delta = K - 1; delta >= 0; --delta) distances.push_back(delta);
    Tensor R = sinusoids("wrong_on_purpose", distances, C);  // [K, C], sin … | cos …
    if (made(Mistake::interleaved))                          // sin cos sin cos …
      R = reshape(transpose(reshape(R, {K, 2, C / 2})), {K, C});
    if (made(Mistake::angles)) {  // δ f in the place of sin(δ f) and cos(δ f)
      std::vector<Scalar> angles;
      for (int64_t delta : distances)
        for (int64_t c = 0; c < C; ++c)
          angles.push_back(Scalar(delta * std::pow(10000.0, -2.0 * (c % (C / 2)) / C)));
      R = Tensor::from({K, C}, angles);
    }
    Tensor rows = reshape(position(R), {K, H, D});
    return relative_product(q + unsqueeze(position_bias, 1), rows, K);
  }

  /// q_i·R_{P-δ}
  Tensor by_table(const Tensor& q, int64_t K) const {
    int64_t P = table.size(0) / 2, T = q.size(2);
    int64_t first = P - (K - 1);                                   // the row of δ = K - 1
    if (made(Mistake::table_without_memory)) first = P - (T - 1);  // that of δ = T - 1
    return relative_product(q, slice(table, 0, first, first + K), K);
  }

  /// q_i·a_c
  Tensor by_clipped_distance(const Tensor& q, int64_t K) const {
    int64_t m = sizes.max_distance;
    Tensor rows = table;
    if (made(Mistake::unshifted_clip))  // an index from -m to m, where -1 is the last row
      rows = concat({slice(rows, 0, m + 1, 2 * m + 1), slice(rows, 0, 0, m + 1)}, 0);
    return gather_by_distance(matmul(q, transpose(rows)), K);
  }

  /// q_i·E_δ, with a table for each direction; row L - 1 - |δ| is for the distance δ.
  Tensor both_ways(const Tensor& q, int64_t K) const {
    int64_t L = sizes.max_len;
    Tensor behind = slice(table, 0, L - K, L), ahead = slice(future, 0, L - K, L);
    Tensor at_keys = where(K, K, [](int64_t delta) { return delta < 0; });
    if (made(Mistake::query_of_key))  // the skewed past of the future's table, turned over
      return relative_product(q, behind, K) * past_and_present(K, K) +
             transpose(relative_product(q, ahead, K)) * at_keys;
    Tensor rows = concat({behind, flip(slice(ahead, 0, 0, K - 1), 0)}, 0);  // [2K - 1, H, D]
    Tensor scores = relative_product(q, rows, K);
    if (made(Mistake::diagonal_twice)) {
      Tensor here = slice(ahead, 0, K - 1, K);  // [1, H, D]
      scores = scores + matmul(q, permute(here, {1, 2, 0})) *
                            where(K, K, [](int64_t delta) { return delta == 0; });
    }
    return scores;
  }

  Tensor probabilities(const Tensor& scores, bool causal) const {
    Visibility visible;
    visible.sight.causal = causal;
    Tensor seen = past_and_present(scores.size(2), scores.size(3));
    Tensor masked = scores + (seen - 1) * Scalar(1e9);
    if (made(Mistake::softmax_over_heads)) return softmax_along(scores, 1) * seen;
    if (made(Mistake::softmax_over_heads_1e9)) return softmax_along(masked, 1);
    if (made(Mistake::softmax_over_queries)) return softmax_along(masked, 2);
    if (made(Mistake::mask_for_scores)) return masked_softmax(scores * Scalar(0), visible, 1);
    return masked_softmax(scores, visible, 1);
  }

  void visit(Visitor& visitor) const override {
    Mixer::visit(visitor);
    visitor("content_bias", content_bias);
    visitor("position_bias", position_bias);
    if (position.weight.defined()) visitor("position", position);
    visitor("table", table);
    visitor("future", future);
  }
};

struct MistakenAft : Mixer {
  Tensor position_bias;  // w [max_len, max_len]

  MistakenAft(const Exhibit& exhibit, const Sizes& sizes, Random& random)
      : Mixer(exhibit, sizes, random),
        position_bias(normal_parameter({sizes.max_len, sizes.max_len}, random)) {}

  /// σ(q_i) Σ_j e^(k_j + w_ij) v_j / Σ_j e^(k_j + w_ij)
  Tensor mix(const Tensor& all, int64_t T, bool) const override {
    int64_t K = all.size(1);
    Tensor gate = sigmoid(project(0, all, T)), k = project(1, all, K), v = project(2, all, K);
    Tensor w = slice(slice(position_bias, 0, K - T, K), 1, 0, K);  // [T, K]
    if (made(Mistake::maximum_of_all)) {
      Tensor e = exp(k - maximum(k, 1, true));  // of all K tokens, whatever the query
      Tensor weights = exp(w) * past_and_present(T, K);
      return gate * matmul(weights, e * v) / matmul(weights, e);
    }
    Visibility visible;
    visible.sight.causal = true;
    return gate * aft_mix(k, v, {.bias = unsqueeze(w, 0), .step = 0}, visible);
  }

  void visit(Visitor& visitor) const override {
    Mixer::visit(visitor);
    visitor("position_bias", position_bias);
  }
};

}  // namespace

std::unique_ptr<Layer> make_mixer(const Exhibit& exhibit, const Sizes& sizes, Random& random) {
  if (exhibit.form == Form::aft) return std::make_unique<MistakenAft>(exhibit, sizes, random);
  return std::make_unique<MistakenAttention>(exhibit, sizes, random);
}

LanguageModel make_model(const Exhibit& exhibit, const LanguageModelConfig& config, int64_t max_len,
                         Random& random) {
  Sizes sizes{.d_model = config.d_model, .n_head = config.n_head, .max_len = max_len};
  LanguageModel model(config, random,
                      [&](Random& start) { return make_mixer(exhibit, sizes, start); });
  if (exhibit.mistake == Mistake::unnormed_feed_forward)  // x + f(x), not x + f(norm(x))
    for (const auto& block : model.blocks.layers) block->parts.back().norm = LayerNorm();
  return model;
}

}  // namespace wrong_on_purpose
