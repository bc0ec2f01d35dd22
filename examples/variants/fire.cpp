// FIRE (Li et al. 2024, https://arxiv.org/abs/2310.04418): a bias that a small net f_θ makes of the
// distance, as a share of the query's position.
//
//     score_ij = q_i·k_j / √D + f_θ(ψ(i - j) / ψ(max(L, i))),   ψ(x) = log(c x + 1)
//     f_θ(u)_h = Σ_m w_hm relu(a_m u + b_m) + d_h
//
// c and L are learned, too. c starts at 0.1, L at a number of tokens that the program chooses.

#include <algorithm>
#include <cmath>

#include "variants.h"

namespace variants {

namespace {

/// The bias. Its parameters are c, L, d_h and then a, b, w_h of the net [H, 3 + 3m].
struct Fire : ScoreFunction {
  int64_t m;
  explicit Fire(int64_t m) : m(m) {}
  static Scalar delta(const ScoreRow& row, int64_t n) {
    return static_cast<Scalar>(std::abs(row.distance(n)));
  }
  void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
    const Scalar *p = row.parameters, *a = p + 3, *b = a + m, *w = b + m;
    Scalar whole = std::log1p(p[0] * std::max(p[1], static_cast<Scalar>(row.query)));
    std::vector<Scalar> u;
    for (int64_t n = 0; n < row.count; ++n) u.push_back(std::log1p(p[0] * delta(row, n)) / whole);
    for (int64_t n = 0; n < row.count; ++n) scores[n] += p[2];
    for (int64_t unit = 0; unit < m; ++unit)
      for (int64_t n = 0; n < row.count; ++n)
        scores[n] += w[unit] * std::max(a[unit] * u[static_cast<size_t>(n)] + b[unit], Scalar{0});
    if (slopes) std::fill_n(slopes, row.count, Scalar{1});
  }
  void backward(const ScoreRow& row, const Scalar* gradients, Scalar* sums) const override {
    const Scalar *p = row.parameters, *a = p + 3, *b = a + m, *w = b + m;
    Scalar *da = sums + 3, *db = da + m, *dw = db + m;
    Scalar c = p[0], most = std::max(p[1], static_cast<Scalar>(row.query));
    Scalar whole = std::log1p(c * most), slope = 1 / (1 + c * most);  // ψ(most), and ∂ψ/∂(c most)
    for (int64_t n = 0; n < row.count; ++n) {
      Scalar x = delta(row, n), u = std::log1p(c * x) / whole, du = 0;
      for (int64_t unit = 0; unit < m; ++unit) {
        Scalar h = a[unit] * u + b[unit], dh = h > 0 ? gradients[n] * w[unit] : 0;
        dw[unit] += gradients[n] * std::max(h, Scalar{0});
        db[unit] += dh;
        da[unit] += dh * u;
        du += dh * a[unit];
      }
      sums[0] += du * (x / (1 + c * x) - u * most * slope) / whole;
      if (most == p[1]) sums[1] -= du * u * c * slope / whole;
      sums[2] += gradients[n];
    }
  }
};

struct FireAttention : Attention {
  Scalar threshold;         // the unit of L
  Tensor c, L, a, b, w, d;  // [1], [1], [m], [m], [H, m], [H, 1]
  FireAttention(int64_t d_model, int64_t n_head, int64_t m, double threshold, Random& random)
      : threshold(static_cast<Scalar>(threshold)),
        c(constant_parameter({1}, Scalar(0.1))),
        L(constant_parameter({1}, 1)),
        a(uniform_parameter({m}, random, 1)),
        b(uniform_parameter({m}, random, 1)),
        w(uniform_parameter({n_head, m}, random, 1 / std::sqrt(m))),
        d(constant_parameter({n_head, 1}, 0)) {
    build("fire_attention", d_model, n_head, std::nullopt, true, random);
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    auto of_each = [&](const Tensor& x) { return expand(unsqueeze(x, 0), {n_head, x.size(0)}); };
    auto bias = std::make_shared<Fire>(a.size(0));
    bias->parameters =
        concat({of_each(abs(c)), of_each(abs(L) * threshold), d, of_each(a), of_each(b), w}, 1);
    return {.query = heads.query, .key = heads.key, .value = heads.value, .score_function = bias};
  }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    for (auto [name, parameter] :
         {std::pair{"c", &c}, {"L", &L}, {"a", &a}, {"b", &b}, {"w", &w}, {"d", &d}})
      visitor(name, *parameter);
  }
};

}  // namespace

std::unique_ptr<Layer> fire(int64_t d_model, int64_t n_head, int64_t hidden, double threshold,
                            Random& random) {
  return std::make_unique<FireAttention>(d_model, n_head, hidden, threshold, random);
}

}  // namespace variants
