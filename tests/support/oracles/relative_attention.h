#pragma once

// ops/attention.h as loops over indices, forward and backward, with running error bounds.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ops/attention.h"
#include "tests/support/masks.h"
#include "tests/support/numbers.h"

namespace shiftgrad::test {

/// The optional terms, in the order of the inputs: content_bias, position_bias, position_rows,
/// position_queries, position_scores, clipped_keys, clipped_values, key_scores, the sink and a
/// score function's parameters.
inline const std::string all_terms = "uvrpsabgzf";

/// f(s) = s + s²/4 + w_0 δ/(4 + |δ|) + w_1 (1 + b + h/2), which depends on all that a row says.
struct PlacedSquare : ScoreFunction {
  static double by_distance(const ScoreRow& row, int64_t n) {
    const auto distance = static_cast<double>(row.distance(n));
    return distance / (4 + std::abs(distance));
  }
  static double by_place(const ScoreRow& row) {
    return 1 + static_cast<double>(row.b) + static_cast<double>(row.h) / 2;
  }

  void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
    for (int64_t n = 0; n < row.count; ++n) {
      if (slopes) slopes[n] = 1 + scores[n] / 2;
      scores[n] += scores[n] * scores[n] / 4 +
                   row.parameters[0] * static_cast<Scalar>(by_distance(row, n)) +
                   row.parameters[1] * static_cast<Scalar>(by_place(row));
    }
  }
  void backward(const ScoreRow& row, const Scalar* gradients, Scalar* sums) const override {
    for (int64_t n = 0; n < row.count; ++n) {
      sums[0] += gradients[n] * static_cast<Scalar>(by_distance(row, n));
      sums[1] += gradients[n] * static_cast<Scalar>(by_place(row));
    }
  }
};

/// One use of the op: its sizes, and which of the optional terms it has.
struct AttentionForm {
  std::string name;
  std::string terms{};
  int64_t B = 2, H = 2, T = 3, K = 3, D = 2;
  int64_t clip = 1;
  int64_t groups = 0;          // of heads that share keys and values; 0 where each has its own
  int64_t value_size = 0;      // 0 for D
  bool shared_tables = false;  // by the heads
  Visibility visibility{};
  double dropout = 0;
  Scalar factor = Scalar{0.5};

  bool has(char term) const { return terms.find(term) != std::string::npos; }
  /// The sizes G and E of key [B, G, K, D] and value [B, G, K, E], and the group of a head.
  int64_t G() const { return groups ? groups : H; }
  int64_t E() const { return value_size ? value_size : D; }
  int64_t group(int64_t h) const { return h / (H / G()); }
  int64_t distances() const {
    return visibility.sight.causal ? K : K + std::max<int64_t>(T - 1, 0);
  }

  /// q, k, values, then the terms in their order.
  std::vector<Dims> shapes() const {
    int64_t heads = shared_tables ? 1 : H;
    std::map<char, Dims> optional = {{'u', {H, D}},
                                     {'v', {H, D}},
                                     {'r', {distances(), heads, D}},
                                     {'p', {distances(), heads, D}},
                                     {'s', {distances(), H}},
                                     {'a', {2 * clip + 1, heads, D}},
                                     {'b', {2 * clip + 1, heads, E()}},
                                     {'g', {B, heads, K}},
                                     {'z', {H}},
                                     {'f', {heads, 2}}};
    std::vector<Dims> result = {{B, H, T, D}, {B, G(), K, D}, {B, G(), K, E()}};
    for (char term : all_terms)
      if (has(term)) result.push_back(optional[term]);
    return result;
  }

  DropoutPattern pattern() const { return {7, 3, dropout}; }

  RelativeAttention attention(const std::vector<Tensor>& inputs) const {
    RelativeAttention a{.query = inputs[0], .key = inputs[1], .value = inputs[2]};
    std::map<char, Tensor*> optional = {
        {'u', &a.content_bias},     {'v', &a.position_bias},   {'r', &a.position_rows},
        {'p', &a.position_queries}, {'s', &a.position_scores}, {'a', &a.clipped_keys},
        {'b', &a.clipped_values},   {'g', &a.key_scores},      {'z', &a.sink}};
    auto function = std::make_shared<PlacedSquare>();
    optional['f'] = &function->parameters;
    size_t next = 3;
    for (char term : all_terms)
      if (has(term)) *optional[term] = inputs[next++];
    if (has('f')) a.score_function = function;
    a.factor = factor;
    a.visibility = visibility;
    a.dropout = pattern();
    return a;
  }
};

/// y, and given a cotangent the gradients of the inputs.
class AttentionOracle {
 public:
  AttentionOracle(const AttentionForm& form, const std::vector<Numbers>& inputs)
      : y({form.B, form.H, form.T, form.E()}), form_(form), inputs_(inputs) {
    size_t next = 3;
    for (char term : all_terms)
      if (form.has(term)) place_[term] = next++;
    for (const Numbers& input : inputs) gradients.emplace_back(input.shape);
  }

  Numbers y;
  std::vector<Numbers> gradients;

  void forward() {
    for_each_index({form_.B, form_.H, form_.T}, [&](const Dims& row) { forward_row(row); });
  }

  void backward(const Numbers& dy) {
    for_each_index({form_.B, form_.H, form_.T}, [&](const Dims& row) { backward_row(row, dy); });
  }

 private:
  int64_t distance(int64_t i, int64_t j) const { return form_.K - form_.T + i - j; }
  int64_t clipped(int64_t i, int64_t j) const {
    return std::clamp(-distance(i, j), -form_.clip, form_.clip) + form_.clip;
  }

  /// The number of a term's table that belongs to head h; `all` is inputs or gradients.
  Bounded* at(std::vector<Numbers>& all, char term, int64_t h, int64_t row, int64_t d) {
    auto found = place_.find(term);
    if (found == place_.end()) return nullptr;
    Numbers& table = all[found->second];
    if (term == 'u' || term == 'v') return &table(h, d);
    if (term == 's') return &table(row, h);
    if (term == 'z') return &table(h);
    return &table(row, table.shape[1] == 1 ? 0 : h, d);
  }
  Bounded term(char name, int64_t h, int64_t row, int64_t d) {
    Bounded* number = at(inputs_, name, h, row, d);
    return number ? *number : Bounded();
  }
  void add(char name, int64_t h, int64_t row, int64_t d, const Bounded& slope) {
    if (Bounded* sum = at(gradients, name, h, row, d)) *sum += slope;
  }

  bool sees(int64_t b, int64_t i, int64_t j) const {
    return is_seen(form_.visibility, b, i, j, form_.T, form_.K);
  }

  Scalar kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    Scalar factor = 1;
    if (form_.dropout > 0)
      form_.pattern().factors(((b * form_.H + h) * form_.T + i) * form_.K + j, 1, &factor);
    return factor;
  }

  /// The number of g_j of a head, or null.
  Bounded* key_score(std::vector<Numbers>& all, int64_t b, int64_t h, int64_t j) {
    auto found = place_.find('g');
    if (found == place_.end()) return nullptr;
    Numbers& scores = all[found->second];
    return &scores(b, scores.shape[1] == 1 ? 0 : h, j);
  }

  ScoreRow row_of(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return {b, h, form_.K - form_.T + i, j, 1, nullptr};
  }
  /// The number of a score function's parameter n for head h.
  Bounded& parameter(std::vector<Numbers>& all, int64_t h, int64_t n) {
    Numbers& table = all[place_.at('f')];
    return table(table.shape[0] == 1 ? 0 : h, n);
  }

  /// s + s²/4 + w_0 δ/(4 + |δ|) + w_1 (1 + b + h/2), or s without a score function
  Bounded score(int64_t b, int64_t h, int64_t i, int64_t j) {
    Bounded s = plain_score(b, h, i, j);
    if (!form_.has('f')) return s;
    ScoreRow row = row_of(b, h, i, j);
    return s + s * s * Bounded(0.25) +
           parameter(inputs_, h, 0) * Bounded(PlacedSquare::by_distance(row, 0)) +
           parameter(inputs_, h, 1) * Bounded(PlacedSquare::by_place(row));
  }
  /// Takes the gradient of a score function's result to its parameters and to s.
  Bounded through_function(int64_t b, int64_t h, int64_t i, int64_t j, const Bounded& slope) {
    if (!form_.has('f')) return slope;
    ScoreRow row = row_of(b, h, i, j);
    parameter(gradients, h, 0) += slope * Bounded(PlacedSquare::by_distance(row, 0));
    parameter(gradients, h, 1) += slope * Bounded(PlacedSquare::by_place(row));
    return slope * (Bounded(1) + plain_score(b, h, i, j) * Bounded(0.5));
  }

  /// factor ((q_i + u)·k_j + (q_i + v)·(r_δ + a_c) + k_j·p_δ + s_δ + g_j)
  Bounded plain_score(int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t row = form_.K - 1 - distance(i, j), c = clipped(i, j);
    Bounded sum = term('s', h, row, 0);
    if (Bounded* g = key_score(inputs_, b, h, j)) sum += *g;
    for (int64_t d = 0; d < form_.D; ++d) {
      const Bounded &q = inputs_[0](b, h, i, d), &k = inputs_[1](b, form_.group(h), j, d);
      sum += (q + term('u', h, 0, d)) * k;
      sum += (q + term('v', h, 0, d)) * term('r', h, row, d);
      sum += (q + term('v', h, 0, d)) * term('a', h, c, d);
      sum += k * term('p', h, row, d);
    }
    return Bounded(static_cast<double>(form_.factor)) * sum;
  }

  /// p_ij of a row; 0 for hidden keys. Sets the sink's probability.
  std::vector<Bounded> probabilities(int64_t b, int64_t h, int64_t i) {
    std::vector<Bounded> p(static_cast<size_t>(form_.K));
    Bounded greatest(-std::numeric_limits<double>::infinity()), total;
    const Bounded* sink = at(inputs_, 'z', h, 0, 0);
    if (sink) greatest = *sink;
    for (int64_t j = 0; j < form_.K; ++j) {
      if (!sees(b, i, j)) continue;
      Bounded& s = p[static_cast<size_t>(j)] = score(b, h, i, j);
      if (s.value > greatest.value) greatest = s;
    }
    for (int64_t j = 0; j < form_.K; ++j)
      if (Bounded& s = p[static_cast<size_t>(j)]; sees(b, i, j)) total += s = exp(s - greatest);
    sink_ = sink ? exp(*sink - greatest) : Bounded();
    total += sink_;
    for (int64_t j = 0; j < form_.K; ++j)
      if (Bounded& s = p[static_cast<size_t>(j)]; sees(b, i, j)) s = s / total;
    if (sink) sink_ = sink_ / total;
    return p;
  }

  void forward_row(const Dims& row) {
    int64_t b = row[0], h = row[1], i = row[2];
    std::vector<Bounded> p = probabilities(b, h, i);
    for (int64_t j = 0; j < form_.K; ++j) {
      if (!sees(b, i, j)) continue;
      Bounded dropped = p[static_cast<size_t>(j)] * Bounded(static_cast<double>(kept(b, h, i, j)));
      for (int64_t d = 0; d < form_.E(); ++d) {
        y(b, h, i, d) += dropped * inputs_[2](b, form_.group(h), j, d);
        y(b, h, i, d) += dropped * term('b', h, clipped(i, j), d);
      }
    }
  }

  void backward_row(const Dims& row, const Numbers& dy) {
    int64_t b = row[0], h = row[1], i = row[2];
    std::vector<Bounded> p = probabilities(b, h, i), dp(p.size());
    Bounded mean;
    for (int64_t j = 0; j < form_.K; ++j) {
      if (!sees(b, i, j)) continue;
      size_t n = static_cast<size_t>(j);
      Bounded keep(static_cast<double>(kept(b, h, i, j)));
      for (int64_t d = 0; d < form_.E(); ++d) {
        const Bounded& slope = dy.at({b, h, i, d});
        dp[n] += slope * (inputs_[2](b, form_.group(h), j, d) + term('b', h, clipped(i, j), d));
        gradients[2](b, form_.group(h), j, d) += p[n] * keep * slope;
        add('b', h, clipped(i, j), d, p[n] * keep * slope);
      }
      dp[n] = dp[n] * keep;
      mean += p[n] * dp[n];
    }
    add('z', h, 0, 0, sink_ * (Bounded() - mean));
    for (int64_t j = 0; j < form_.K; ++j)
      if (size_t n = static_cast<size_t>(j); sees(b, i, j))
        pair_gradients(b, h, i, j,
                       Bounded(static_cast<double>(form_.factor)) *
                           through_function(b, h, i, j, p[n] * (dp[n] - mean)));
  }

  void pair_gradients(int64_t b, int64_t h, int64_t i, int64_t j, const Bounded& ds) {
    int64_t row = form_.K - 1 - distance(i, j), c = clipped(i, j);
    add('s', h, row, 0, ds);
    if (Bounded* sum = key_score(gradients, b, h, j)) *sum += ds;
    for (int64_t d = 0; d < form_.D; ++d) {
      const Bounded &q = inputs_[0](b, h, i, d), &k = inputs_[1](b, form_.group(h), j, d);
      Bounded position = term('r', h, row, d) + term('a', h, c, d);
      Bounded biased = q + term('v', h, 0, d);
      gradients[0](b, h, i, d) += ds * k;
      gradients[0](b, h, i, d) += ds * position;
      gradients[1](b, form_.group(h), j, d) += ds * (q + term('u', h, 0, d));
      gradients[1](b, form_.group(h), j, d) += ds * term('p', h, row, d);
      add('p', h, row, d, ds * k);
      add('u', h, 0, d, ds * k);
      add('v', h, 0, d, ds * position);
      add('r', h, row, d, ds * biased);
      add('a', h, c, d, ds * biased);
    }
  }

  AttentionForm form_;
  std::vector<Numbers> inputs_;
  std::map<char, size_t> place_;
  Bounded sink_{};  // its probability, in the row at hand
};

}  // namespace shiftgrad::test
