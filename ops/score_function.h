#pragma once

// A function of one's own in the score of attention. The kernel calls it for one row of a tile at a
// time, so a variant that fits none of the terms still trains in linear memory.
//
//     struct LogDistance : ScoreFunction {  // score_ij - a_h log(1 + δ), with parameters [H, 1]
//       void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
//         for (int64_t n = 0; n < row.count; ++n) {
//           scores[n] -= row.parameters[0] * std::log1p(Scalar(row.distance(n)));
//           if (slopes) slopes[n] = 1;
//         }
//       }
//       void backward(const ScoreRow& row, const Scalar* gradients, Scalar* sums) const override {
//         for (int64_t n = 0; n < row.count; ++n)
//           sums[0] -= gradients[n] * std::log1p(Scalar(row.distance(n)));
//       }
//     };

#include <cstdint>
#include <memory>

#include "core/tensor.h"
#include "ops/visibility.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The scores of a query and of keys one behind the other, which a ScoreFunction is called for.
struct ScoreRow {
  /// The batch member, and the head.
  int64_t b, h;
  /// Where the query stands among the keys: K - T + i.
  int64_t query;
  /// The first of the keys, and their number.
  int64_t first_key, count;
  /// The head's own parameters [n]; null where there are none.
  const Scalar* parameters;

  /// The distance δ from the query back to the key of score n.
  int64_t distance(int64_t n) const { return query - first_key - n; }
};

/// A function s'_j = f(s_j) of each score, whose form may depend on the row, the place of the key,
/// and parameters. How it depends on parameters may not depend on the score. It is called from
/// several threads at once, and for pieces of a row of any length.
struct ScoreFunction {
  /// What it learns, a row for each head or one for all [H or 1, n]; undefined for nothing.
  Tensor parameters{};

  virtual ~ScoreFunction() = default;
  /// Turns scores s_j into f(s_j), in place. Where `slopes` is not null, sets them to f'(s_j).
  virtual void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const = 0;
  /// Adds Σ_j gradients_j ∂f(s_j)/∂parameters to the sums [n], given the gradients of f(s_j).
  /// Throws unless overridden; without parameters it is not called.
  virtual void backward(const ScoreRow& row, const Scalar* gradients, Scalar* sums) const;
};

/// cap · tanh(s / cap), which keeps scores between -cap and cap (Gemma 2, Riviere et al. 2024,
/// section 2).
struct SoftCap : ScoreFunction {
  /// The cap, in units of scores after the factor.
  Scalar cap;

  /// Caps scores at ±most. Throws when that is not above 0, or it or its inverse is not finite.
  explicit SoftCap(double most);
  void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override;
};

/// Returns the parameters of head h, dense rows [H or 1, n]; null where they are undefined.
const Scalar* parameters_of_head(const Tensor& parameters, int64_t h);

/// Throws an error that names `operation` unless the parameters are a row for each of H heads, or
/// one for all.
void check_score_function(const char* operation, const ScoreFunction& function, int64_t H);

/// Returns f(factor · scores) for scores [B, H, T, K], a row at a time, of the keys from the first
/// to the last that the rules and spans of a visibility leave to a query; the others pass nothing
/// on.
Tensor apply_score_function(const std::shared_ptr<const ScoreFunction>& function,
                            const Tensor& scores, Scalar factor, const Visibility& visibility);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
