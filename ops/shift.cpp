#include "ops/shift.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/checked.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/products.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Whether rows [n, H or 1, D] are for the heads of x [B, H, tokens, D].
bool fit(const Tensor& x, const Tensor& rows) {
  return x.rank() == 4 && rows.rank() == 3 && rows.size(2) == x.size(3) &&
         (rows.size(1) == x.size(1) || rows.size(1) == 1);
}

}  // namespace

Tensor relative_product(const Tensor& q, const Tensor& rows, int64_t K) {
  require_defined("relative_product", "q", q, "rows", rows);
  require(fit(q, rows) && 0 <= K && K <= rows.size(0), "relative_product: ", q.shape(), " with ",
          rows.shape(), " for ", K, " keys: expected [B, H, T, D] and [n, H, D] with 0 to n keys");
  Tensor by_head = permute(rows, {1, 0, 2});                        // [H, n, D]
  Tensor shifted = rel_shift_view(matmul_left_padded(q, by_head));  // [B, H, T, n]
  return slice(shifted, -1, 0, K);                                  // [B, H, T, K]
}

Tensor rel_shift_view(const Tensor& padded) {
  require_defined("rel_shift_view", "padded", padded);
  return padded.view(padded.layout().rel_shift());
}

Tensor matmul_left_padded(const Tensor& a, const Tensor& b) {
  require_defined("matmul_left_padded", "a", a, "b", b);
  auto fits = [&](int axis) {
    return b.size(axis) == a.size(axis) || (axis < -2 && b.size(axis) == 1);
  };
  bool fit = a.rank() >= b.rank() && b.rank() >= 2 && fits(-1);
  for (int axis = -3; fit && axis >= -b.rank(); --axis) fit = fits(axis);
  require(fit, "matmul_left_padded: ", a.shape(), " with ", b.shape(),
          ": expected […, T, D] and […, K, D]");
  Dims stack = a.shape();
  stack[-2] = b.size(-2);
  Tensor keys = expand(b, stack);  // [..., K, D]
  Dims shape = a.shape();
  shape[-1] = b.size(-2) + 1;
  Tensor y = Tensor::empty(shape);  // [..., T, K+1]
  copy_into(slice(y, -1, 0, 1), expand(Tensor::zeros({}), slice(y, -1, 0, 1).shape()));
  auto product = [](const Tensor& padded) { return slice(padded, -1, 1, padded.size(-1)); };
  multiply_matrices("matmul_left_padded", 1, a, transpose(keys), 0, product(y));
  record(y, {&a, &keys}, [a, keys, product](const Tensor& dy) {
    write_product("matmul_left_padded", a.open_gradient(), product(dy), keys, WeightsIn::left);
    write_product("matmul_left_padded", keys.open_gradient(), transpose(product(dy)), a,
                  WeightsIn::left);
  });
  return y;
}

namespace {

/// Returns x with a zero column before its columns, which then begin at 1, or after them (at 0).
Tensor padded(const char* operation, const Tensor& x, int64_t begin) {
  require_defined(operation, "x", x);
  require(x.rank() >= 2, operation, ": ", x.shape(), ", expected […, T, K]");
  require(x.size(-1) < INT64_MAX, operation, ": ", x.shape(), ", expected fewer columns");
  Dims shape = x.shape();
  shape[-1] += 1;
  Tensor y = Tensor::zeros(shape);
  auto inside = [begin](const Tensor& whole) {
    return slice(whole, -1, begin, begin + whole.size(-1) - 1);
  };
  copy_into(inside(y), x);
  record(y, {&x}, [x, inside](const Tensor& dy) { accumulate(x.open_gradient(), inside(dy)); });
  return y;
}

}  // namespace

Tensor pad_left(const Tensor& x) { return padded("rel_shift", x, 1); }

Tensor pad_right(const Tensor& x) { return padded("shift_right", x, 0); }

Tensor rel_shift(const Tensor& x, bool zero_triu) {
  Tensor shifted = rel_shift_view(pad_left(x));
  if (!zero_triu) return shifted;
  int64_t T = x.size(-2), K = x.size(-1);
  Tensor kept = Tensor::zeros({T, K});
  for (int64_t i = 0; i < T; ++i)
    std::fill_n(kept.mutable_data() + i * K, std::clamp<int64_t>(i + K - T + 1, 0, K), Scalar{1});
  return shifted * kept;
}

// Backwards, keys stand to queries as queries to keys.
Tensor relative_key_product(const Tensor& k, const Tensor& rows, int64_t T) {
  require_defined("relative_key_product", "k", k, "rows", rows);
  require(fit(k, rows) && T >= 0 && k.size(2) <= rows.size(0), "relative_key_product: ", k.shape(),
          " with ", rows.shape(), " for ", T,
          " queries: expected [B, H, K, D] and [n, H, D] with 0 to n keys, and 0 queries or more");
  int64_t distances = saturated_sum(std::max<int64_t>(k.size(2), 1) - 1, T);
  int64_t missing = std::max<int64_t>(distances - rows.size(0), 0);
  Tensor future = Tensor::zeros({missing, rows.size(1), rows.size(2)});
  Tensor backwards = relative_product(flip(k, 2), concat({rows, future}, 0), T);  // [B, H, K, T]
  return transpose(flip(flip(backwards, 2), 3));                                  // [B, H, T, K]
}

Tensor relative_bias(const Tensor& rows, int64_t T, int64_t K) {
  require_defined("relative_bias", "rows", rows);
  require(rows.rank() == 2 && T >= 0 && 0 <= K && K <= rows.size(0),
          "relative_bias: ", rows.shape(), " for ", T, " queries and ", K,
          " keys: expected [n, H] with 0 to n keys, and 0 queries or more");
  Tensor by_head = unsqueeze(transpose(rows), 1);                 // [H, 1, n]
  Tensor all = expand(by_head, {rows.size(1), T, rows.size(0)});  // [H, T, n]
  return slice(rel_shift(all), -1, 0, K);                         // [H, T, K]
}

Tensor shift_right(const Tensor& x) {
  Tensor padded = pad_right(x);
  return padded.view(padded.layout().shift_right());
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
