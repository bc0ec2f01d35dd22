#include "ops/attention/pairs.h"

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The clipped distances of one row: keys before `near` use row 0 of the table, keys from `far` on
/// its last row, and key j between them row j + shift.
struct ClippedRow {
  int64_t near, far, shift;

  ClippedRow(int64_t k, const AttentionTile& tile, int64_t row) {
    int64_t position = tile.problem.K - tile.problem.T + tile.first + row;
    int64_t first = tile.key_begin - position;  // -δ of key 0
    near = std::clamp<int64_t>(-first - k, 0, tile.keys);
    far = std::clamp<int64_t>(-first + k + 1, 0, tile.keys);
    shift = first + k;
  }
};

}  // namespace

void add_clipped(const ConstMatrix& by_clipped, const AttentionTile& tile, const Matrix& scores) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    ClippedRow clipped(by_clipped.columns / 2, tile, i);
    const Scalar* in = by_clipped.data + i * by_clipped.row_stride;
    Scalar* out = scores.data + i * scores.row_stride;
    auto [begin, end] = tile.seen[i];
    int64_t near = std::clamp(clipped.near, begin, end), far = std::clamp(clipped.far, near, end);
    for (int64_t j = begin; j < near; ++j) out[j] += in[0];
    for (int64_t j = near; j < far; ++j) out[j] += in[j + clipped.shift];
    for (int64_t j = far; j < end; ++j) out[j] += in[by_clipped.columns - 1];
  }
}

void sum_clipped(const ConstMatrix& x, const AttentionTile& tile, const Matrix& sums) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    ClippedRow clipped(sums.columns / 2, tile, i);
    const Scalar* in = x.data + i * x.row_stride;
    Scalar* out = sums.data + i * sums.row_stride;
    int64_t end = tile.seen[i].end;  // behind it all x_ij are 0
    for (int64_t j = clipped.near; j < std::min(clipped.far, end); ++j)
      out[j + clipped.shift] += in[j];
    out[0] += simd::sum(in, clipped.near);
    if (clipped.far < end)
      out[sums.columns - 1] += simd::sum(in + clipped.far, tile.keys - clipped.far);
  }
}

void drop_rows(const AttentionTile& tile, int64_t first, int64_t count, const ConstMatrix& p,
               const Matrix& dropped, const Matrix& gradients) {
  const RelativeAttention& a = tile.problem.a;
  Buffer factors(tile.keys);
  for (int64_t i = first; i < first + count; ++i) {
    auto [begin, end] = tile.seen[i];
    int64_t row = a.dropout.first_row * tile.problem.H * tile.problem.T + tile.row_number() + i;
    a.dropout.factors(row * tile.problem.K + tile.key_begin + begin, end - begin, factors.data());
    auto multiply = [&, begin = begin, seen = end - begin](const Scalar* x, Scalar* y) {
      simd::zip(simd::Binary::multiply, x + begin, factors.data(), y + begin, seen);
    };
    clear_outside(dropped, i, begin, end);
    multiply(&p.at(i, 0), &dropped.at(i, 0));
    if (gradients.data) multiply(&gradients.at(i, 0), &gradients.at(i, 0));
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
