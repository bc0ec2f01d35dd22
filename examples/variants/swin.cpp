// The attention of Swin (Liu et al. 2021, https://arxiv.org/abs/2103.14030): tokens are the
// pixels of windows, row by row, and a table has a bias for each offset in two dimensions.
//
//     score_ij = q_i·k_j / √D + B[row_i - row_j, column_i - column_j]
//
// A window of R rows and C columns is a chunk of R·C tokens. The paper's windows are squares of M,
// so its table is (2M-1)². Its second kind of window, shifted by half, is the same layer over
// shifted pixels. A language model sees the past alone: it reads a text in rows.

#include <algorithm>

#include "variants.h"

namespace variants {

namespace {

/// B of both tokens' places in their windows, with a table [H, (2R-1)(2C-1)] for parameters.
struct WindowTable : ScoreFunction {
  int64_t rows, columns;         // R, C
  std::vector<Scalar> of_token;  // the place in its window of each key [K]
  WindowTable(int64_t rows, int64_t columns, const Tensor& places)
      : rows(rows), columns(columns), of_token(places.values()) {}

  /// Where B has the bias of the query and of key n.
  int64_t place(const ScoreRow& row, int64_t n) const {
    auto i = static_cast<int64_t>(of_token[static_cast<size_t>(row.query)]);
    auto j = static_cast<int64_t>(of_token[static_cast<size_t>(row.first_key + n)]);
    int64_t down = i / columns - j / columns, right = i % columns - j % columns;
    return (down + rows - 1) * (2 * columns - 1) + right + columns - 1;
  }
  void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
    for (int64_t n = 0; n < row.count; ++n) scores[n] += row.parameters[place(row, n)];
    if (slopes) std::fill_n(slopes, row.count, Scalar{1});
  }
  void backward(const ScoreRow& row, const Scalar* gradients, Scalar* sums) const override {
    for (int64_t n = 0; n < row.count; ++n) sums[place(row, n)] += gradients[n];
  }
};

struct SwinAttention : Attention {
  int64_t rows, columns;
  Tensor table;  // B [H, (2R-1)(2C-1)]
  SwinAttention(int64_t d_model, int64_t n_head, int64_t rows, int64_t columns, bool causal,
                Random& random)
      : rows(rows), columns(columns) {
    build("swin_attention", d_model, n_head, std::nullopt, true, random);
    table = normal_parameter({n_head, (2 * rows - 1) * (2 * columns - 1)}, random);
    this->causal = causal;
    chunk = Chunk{rows * columns, 0};
  }
  /// Keeps each token's place with its key, since a cache forgets the windows before.
  Heads rotated(const Heads& heads, int64_t, int64_t first) const override {
    Heads placed = heads;
    std::vector<Scalar> places;
    for (int64_t j = first; j < first + heads.key.size(2); ++j)
      places.push_back(static_cast<Scalar>(j % (rows * columns)));
    placed.extra = expand(Tensor::from({1, heads.key.size(2), 1}, places),
                          {heads.key.size(0), heads.key.size(2), 1});  // [B, K, 1]
    return placed;
  }
  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    Tensor places = slice(heads.extra, 0, 0, std::min<int64_t>(heads.extra.size(0), 1));
    auto bias = std::make_shared<WindowTable>(rows, columns, places);
    bias->parameters = table;
    return {.query = heads.query, .key = heads.key, .value = heads.value, .score_function = bias};
  }
  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("table", table);
  }
};

}  // namespace

std::unique_ptr<Layer> swin(int64_t d_model, int64_t n_head, int64_t rows, int64_t columns,
                            bool causal, Random& random) {
  return std::make_unique<SwinAttention>(d_model, n_head, rows, columns, causal, random);
}

}  // namespace variants
