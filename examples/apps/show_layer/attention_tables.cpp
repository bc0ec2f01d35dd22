// The tables of all attention, a stranger's included. Its terms are computed one by one with the
// ops that composed_attention adds up.

#include <cmath>

#include "examples/apps/draw/factor_text.h"
#include "layer_tables.h"
#include "nn/attention.h"
#include "ops/arithmetic.h"
#include "ops/clipped.h"
#include "ops/concat.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/shift.h"

namespace show_layer {

using namespace shiftgrad;

namespace {

/// The first head of [1, H, rows, D].
Tensor first_head(const Tensor& x) { return slice(x, 1, 0, 1); }
/// The first head's part of a table [n, H or 1, …].
Tensor first_of_table(const Tensor& x) { return x.defined() ? slice(x, 1, 0, 1) : x; }
/// The first head of a bias [H, D], for as many queries as `like` [1, 1, T, D] has.
Tensor bias_rows(const Tensor& bias, const Tensor& like) {
  return expand(slice(bias, 0, 0, 1), like.shape());
}
/// The matrix in [1, 1, rows, columns] or [1, rows, columns].
Tensor matrix(const Tensor& x) { return reshape(x, {x.size(-2), x.size(-1)}); }

/// The tables of one layer in the order of the computation, and the sum of the terms so far.
class AttentionTables {
 public:
  AttentionTables(WorkedExample& example, const RelativeAttention& terms, bool changed)
      : example_(example),
        terms_(terms),
        changed_(changed),
        q_(first_head(terms_.query)),
        k_(first_head(terms_.key)),
        T_(q_.size(2)),
        K_(k_.size(2)) {}

  void add_heads(const Heads& heads) {
    add("q", "queries of the new tokens", queries, channels, first_head(heads.query));
    add("k", "keys of the remembered and the new tokens", keys, channels, first_head(heads.key));
    add("v", "values of the same tokens", keys, channels, first_head(heads.value));
    if (!changed_) return;
    add("q′", "each query in the score; rope turns it by its position M + i", queries, channels,
        q_);
    add("k′", "each key in the score; rope turns it by its position j", keys, channels, k_);
  }

  void add_terms() {
    std::vector<Scalar> distances;
    for (int64_t i = 0; i < T_; ++i)
      for (int64_t j = 0; j < K_; ++j) distances.push_back(static_cast<Scalar>(K_ - T_ + i - j));
    add("δ", "distance M + i - j from query i back to key j", queries, keys,
        Tensor::from({T_, K_}, distances));
    add_term(changed_ ? "q′·k′" : "q·k", "content against content: q_i·k_j",
             matmul(q_, transpose(k_)));
    if (terms_.position_rows.defined()) add_position_rows();
    if (terms_.content_bias.defined()) add_content_bias();
    if (terms_.position_bias.defined()) add_position_bias();
    if (terms_.position_queries.defined()) add_position_queries();
    if (terms_.position_scores.defined()) add_position_scores();
    if (terms_.clipped_keys.defined()) add_clipped_keys();
  }

  void add_result(const Tensor& output) {
    std::string factor = apps::factor_text(terms_);
    example_.formula = "score = " + (factor.empty() ? names_ : '(' + names_ + ')' + factor) +
                       ",   p = softmax over the visible j";
    add_pairs("score", "the sum of the terms" + factor, sum_ * terms_.factor.value_or(1));
    example_.tables.push_back(visible_table(terms_.visibility, T_, K_ - T_));
    Tensor p = first_head(attention_probabilities(terms_));
    add_pairs("p", "softmax of the score over the visible keys", p);
    bool with_values = terms_.clipped_values.defined();
    if (with_values) add_clipped_values(p);
    example_.formula += with_values ? ",   y = Σ_j p (v_j + b_c)" : ",   y = Σ_j p v_j";
    add("y", "output, with the identity for W_output", queries, channels,
        slice(output, 2, 0, q_.size(3)));
  }

 private:
  void add(const std::string& name, const std::string& meaning, const Axis& row, const Axis& column,
           const Tensor& values) {
    example_.tables.push_back(table_of(name, meaning, row, column, matrix(values)));
  }
  void add_pairs(const std::string& name, const std::string& meaning, const Tensor& values) {
    add(name, meaning, queries, keys, values);
    example_.tables.back().has_hidden = true;
  }
  Axis distances() const { return {"δ", K_ - 1, -1}; }
  /// Some queries against each distance, the farthest first.
  Tensor by_distance(const Tensor& query) const {
    Tensor rows = transpose(first_of_table(terms_.position_rows), 0, 1);  // [1, n, D]
    return matmul(query, transpose(rows));                                // [1, 1, T, n]
  }
  /// Adds a term of the score, [1, 1, T, K] or [1, T, K].
  void add_term(const std::string& name, const std::string& meaning, const Tensor& values) {
    add_pairs(name, meaning, values);
    names_ += names_.empty() ? name : " + " + name;
    sum_ = sum_.defined() ? sum_ + values : values;
  }

  /// Adds scores by distance, then the same ones by key, which is the shift.
  void add_position_rows() {
    add("r", "rows of distances, the farthest first", distances(), channels,
        transpose(first_of_table(terms_.position_rows), 0, 1));
    add("q·r by distance", "each query against each distance, before the shift", queries,
        distances(), by_distance(q_));
    add_term("q·r", "content against distance: q_i·r_δ, shifted to the keys",
             relative_product(q_, first_of_table(terms_.position_rows), K_));
  }

  void add_content_bias() {
    Tensor u = bias_rows(terms_.content_bias, q_);
    add("u", "content bias: added to each query before it meets the keys", one_row, channels,
        slice(u, 2, 0, 1));
    add_term("u·k", "the content bias against key j: u·k_j", matmul(u, transpose(k_)));
  }

  void add_position_bias() {
    Tensor v = bias_rows(terms_.position_bias, q_), any = slice(v, 2, 0, 1);
    add("position_bias", "added to each query before it meets the distances: v in the papers",
        one_row, channels, any);
    add("v·r by distance", "the position bias against each distance", one_row, distances(),
        by_distance(any));
    add_term("v·r", "the same, shifted to the keys: v·r_δ",
             relative_product(v, first_of_table(terms_.position_rows), K_));
  }

  /// Adds what keys ask of distances, likewise.
  void add_position_queries() {
    Tensor rows = first_of_table(terms_.position_queries);  // [n, 1, D]
    add("position_queries", "rows of distances that ask the keys, the farthest first", distances(),
        channels, transpose(rows, 0, 1));
    add("k·p by distance", "each key against each distance, before the shift", keys, distances(),
        matmul(k_, transpose(transpose(rows, 0, 1))));
    add_term("k·p", "distance against content: k_j·p_δ, shifted to the queries",
             relative_key_product(k_, rows, T_));
  }

  void add_position_scores() {
    Tensor scores = first_of_table(terms_.position_scores);  // [n, 1]
    add("s by distance", "a score for each distance, the farthest first", one_row, distances(),
        transpose(scores, 0, 1));
    add_term("s", "the same, shifted to the keys: s_δ", relative_bias(scores, T_, K_));
  }

  void add_clipped_keys() {
    Tensor a = first_of_table(terms_.clipped_keys);  // [2m + 1, 1, D]
    int64_t rows = a.size(0);
    add("a", "rows of clipped distances c, for keys", {"c"}, channels, transpose(a, 0, 1));
    Tensor by_row = matmul(q_, transpose(transpose(a, 0, 1)));  // [1, 1, T, 2m + 1]
    std::vector<Scalar> numbers;
    for (int64_t c = 0; c < rows; ++c) numbers.push_back(static_cast<Scalar>(c));
    Tensor row_numbers = expand(Tensor::from({1, rows}, numbers), {T_, rows});
    add("c", "row of query i and key j: clip(-δ, -m, m) + m", queries, keys,
        gather_by_distance(row_numbers, K_));
    add("q·a by row", "each query against each row", queries, {"c"}, by_row);
    add_term("q·a", "the same, gathered for the keys: q_i·a_c", gather_by_distance(by_row, K_));
  }

  void add_clipped_values(const Tensor& p) {
    Tensor b = first_of_table(terms_.clipped_values);
    add("p by row", "the probabilities, summed for each row c", queries, {"c"},
        bucket_by_distance(p, b.size(0) / 2));
    add("b", "rows of clipped distances c, for values", {"c"}, channels, transpose(b, 0, 1));
  }

  WorkedExample& example_;
  const RelativeAttention& terms_;
  bool changed_;
  Tensor q_, k_;  // [1, 1, T, D], [1, 1, K, D]
  int64_t T_, K_;
  std::string names_;
  Tensor sum_;
};

/// Whether a variant changed its heads on their way into the score, as rope does.
bool changed(const Heads& heads, const RelativeAttention& terms) {
  return heads.query.values() != terms.query.values() || heads.key.values() != terms.key.values();
}

}  // namespace

void add_attention(WorkedExample& example, const Layer& layer, const RelativeAttention& terms,
                   const Tensor& x, const Tensor& memory) {
  Heads heads{terms.query, terms.key, terms.value};
  if (auto* attention = dynamic_cast<const Attention*>(&layer)) heads = attention->heads(x, memory);
  Context context;
  AttentionTables tables(example, terms, changed(heads, terms));
  tables.add_heads(heads);
  tables.add_terms();
  tables.add_result(layer(x, memory, context));
}

void add_cross_attention(WorkedExample& example, const MultiHeadAttention& layer, const Tensor& x,
                         const Tensor& source) {
  int64_t T = x.size(1), S = source.size(1);
  Heads heads = layer.source_heads(source);
  RelativeAttention terms{.query = first_head(layer.heads(x, {}).query),
                          .key = first_head(heads.key),
                          .value = first_head(heads.value)};
  terms.factor = static_cast<Scalar>(1 / std::sqrt(static_cast<double>(terms.query.size(3))));
  terms.visibility.sight.causal = false;
  auto add = [&](const std::string& name, const std::string& meaning, const Axis& row,
                 const Axis& column, const Tensor& values) {
    example.tables.push_back(table_of(name, meaning, row, column, values));
    example.tables.back().has_hidden = row.name == queries.name && column.name == keys.name;
  };
  Tensor scores = matmul(terms.query, transpose(terms.key));  // [1, 1, T, S]
  Context context;
  add("q", "queries of the target", queries, channels, terms.query);
  add("k", "keys of the source", keys, channels, terms.key);
  add("v", "values of the source", keys, channels, terms.value);
  add("q·k", "content against content: q_i·k_j; no distance", queries, keys, scores);
  add("score", "the term / √D", queries, keys, scores * *terms.factor);
  example.tables.push_back(visible_table(terms.visibility, T, S - T));
  add("p", "softmax of the score over the source", queries, keys, attention_probabilities(terms));
  add("y", "output, with the identity for W_output", queries, channels,
      layer.cross(x, source, context));
  example.formula = "score = q·k / √D,   p = softmax over the source,   y = Σ_j p v_j";
}

}  // namespace show_layer
