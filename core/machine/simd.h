#pragma once

// Loops over contiguous arrays, in the widest vectors that the CPU has: each is a pointer to a
// function that calls the best of those that one source was compiled to. In all but `maximum` n may
// be 0. The output may be one of the inputs, but must not overlap it in part. An element's result
// does not depend on where in the array it stands. Elementary functions treat specials as IEEE 754
// and std:: do: NaN stays NaN, overflow is infinite, the logarithm of a negative number is NaN.

#include <cstdint>
#include <string>
#include <vector>

#include "core/interval.h"
#include "core/machine/matrix.h"

namespace shiftgrad::SHIFTGRAD_PRECISION::simd {

enum class Unary {
  negate,
  exp,
  log,
  sqrt,
  tanh,
  sigmoid,    ///< 1 / (1 + e^-x)
  relu,       ///< max(x, 0), NaN for NaN; its derivative at 0 is 0
  gelu,       ///< x Φ(x) = x/2 (1 + erf(x/√2)) (Hendrycks and Gimpel 2016)
  gelu_tanh,  ///< x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) (GPT-2; PyTorch: approximate="tanh")
  square,
};

enum class Binary {
  add,
  subtract,
  multiply,
  divide,
  maximum,  ///< NaN if either is NaN (PyTorch: torch.maximum)
  weigh,    ///< a b, but 0 where a is 0 and b is not finite: such a weight leaves b out
};

/// y = f(x)
extern void (*const map)(Unary f, const Scalar* x, Scalar* y, int64_t n);

/// dx = beta dx + dy f'(x), given y = f(x); a beta of 0 never reads dx. A dy of 0 passes nothing
/// on, even if f'(x) is not finite.
extern void (*const map_gradient)(Unary f, const Scalar* x, const Scalar* y, const Scalar* dy,
                                  Scalar beta, Scalar* dx, int64_t n);

/// y = f(a, b)
extern void (*const zip)(Binary f, const Scalar* a, const Scalar* b, Scalar* y, int64_t n);

/// y = a + b for matrices whose rows have no gaps. A row stride of 0 stands for one row in place of
/// many.
extern void (*const add_rows)(ConstMatrix a, ConstMatrix b, Matrix y);

/// sums += Σ_i x_i over the rows, one after the other, which have no gaps.
extern void (*const sum_rows)(ConstMatrix x, Scalar* sums);

/// y = alpha x + beta y; a beta of 0 never reads y.
extern void (*const axpby)(Scalar alpha, const Scalar* x, Scalar beta, Scalar* y, int64_t n);

/// y += a b, but nothing where a is 0 and b is not finite.
extern void (*const multiply_add)(const Scalar* a, const Scalar* b, Scalar* y, int64_t n);

/// Σ x, added up in a fixed order (that of the CPU's vector width).
extern Scalar (*const sum)(const Scalar* x, int64_t n);

/// The largest x, or NaN if there is one. Throws an Error if n is less than 1.
extern Scalar (*const maximum)(const Scalar* x, int64_t n);

// The next ones take matrices whose rows have no gaps, and do for each row what calls would do.

/// The `maximum` of the seen columns of each row, -inf where none is seen.
extern void (*const maxima)(ConstMatrix x, const Interval* seen, Scalar* results);

/// Whether no x is a NaN or infinite.
extern bool (*const is_finite)(ConstMatrix x);

/// y_i = factor_i x_i
extern void (*const scale_rows)(const Scalar* factors, ConstMatrix x, Matrix y);

/// Σ p dp over the elements with p ≠ 0, the mean of dp under a softmax p.
extern void (*const softmax_means)(ConstMatrix p, ConstMatrix dp, Scalar* means);
/// dx = beta dx + factor p (dp - mean), the gradient of a softmax p if the means are those of dp.
/// Elements with p = 0 take no part, whatever their dp. A beta of 0 never reads dx.
extern void (*const softmax_gradients)(ConstMatrix p, ConstMatrix dp, const Scalar* means,
                                       Scalar factor, Scalar beta, Matrix dx);

/// y = alpha x aᵀ + beta y for matrices whose rows have no gaps; a beta of 0 never reads y. This is
/// for an x of few rows: a is read once for four of them, as fast as it comes out of the caches.
extern void (*const thin_product)(Scalar alpha, ConstMatrix x, ConstMatrix a, Scalar beta,
                                  Matrix y);

/// y = alpha x a + beta y for an x of one row and dense rows of a and y; a beta of 0 never reads y.
/// Each row of a is read once.
extern void (*const row_product)(Scalar alpha, ConstMatrix x, ConstMatrix a, Scalar beta, Matrix y);

/// x = cap tanh(x / cap), in place. Where `slopes` is not null, they are 1 - tanh²(x / cap).
extern void (*const soft_cap)(Scalar cap, Scalar* x, Scalar* slopes, int64_t n);

/// y = exp(x - shift); returns Σ y. The softmax of a row is this with the row's maximum as shift.
extern Scalar (*const exp_minus)(const Scalar* x, Scalar shift, Scalar* y, int64_t n);

/// Computes the same for each row of a matrix whose rows have no gaps, in its place: for its `seen`
/// columns, which its shift is not below, while the others become 0. It takes two thirds of the
/// time. Floats below e^-87 are 0.
extern void (*const exp_below)(Matrix x, const Interval* seen, const Scalar* shifts, Scalar* sums);

/// The instruction sets that these loops are compiled for and that this CPU has, the best first.
std::vector<std::string> instruction_sets();

/// Makes the whole process use this one of `instruction_sets()` from now on instead of the best. It
/// is for tests, and for equal bits on unequal CPUs. Throws an Error for any other name.
void use_instruction_set(const std::string& name);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::simd
