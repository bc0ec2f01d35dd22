// Computes one query in one channel, where the block's product is not exact (`block.h` says when):
//
//     y = (far_num e^(far_max - M) + Σ_j e^(k_j + w_j - M) v_j) / (the same without v)
//
// over the near keys that it sees, relative to the greatest exponent M of its own. Each takes
// O(n + R).

#include <algorithm>
#include <cmath>
#include <limits>

#include "shiftgrad/ops/aft/block.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The sums Σ e^(x - maximum) v and Σ e^(x - maximum) of terms that come one by one.
struct Sum {
  double maximum = -std::numeric_limits<double>::infinity(), numerator = 0, denominator = 0;

  /// Joins sums that are relative to x.
  void add(double x, double above, double below) {
    if (below == 0) return;
    double greatest = std::max(maximum, x);
    double kept = maximum == greatest ? 1 : std::exp(maximum - greatest);
    double added = x == greatest ? 1 : std::exp(x - greatest);
    numerator = numerator * kept + above * added;
    denominator = denominator * kept + below * added;
    maximum = greatest;
  }
};

double wide(Scalar x) { return static_cast<double>(x); }

}  // namespace

void aft_single(const AftProblem& p, AftRecord& record, int64_t b, int64_t group,
                AftSingle& single) {
  int64_t i = single.query, c = single.channel;
  int64_t block = i / p.rows();
  Span near = p.near(block);
  Sum sum;
  auto add_side = [&](const AftFarSums& side, int64_t border) {
    sum.add(wide(side.maximum(b, border)[c]), wide(side.numerator(b, border)[c]),
            wide(side.denominator(b, border)[c]));
  };
  if (near.begin > 0) add_side(record.before, near.begin);
  if (!p.visibility.causal && near.end < p.key_blocks()) add_side(record.after, near.end);
  if (near.size() > 0) {
    int64_t end = std::min(p.end(i), p.keys(near.end - 1).end);
    for (int64_t j = p.keys(near.begin).begin; j < end; ++j)
      if (!p.is_padding(b, j))
        sum.add(wide(p.key_row(b, j)[c]) + wide(p.bias_at(group, i, j)), wide(p.value_row(b, j)[c]),
                1);
  }
  int64_t at = (b * p.T + i) * p.C + c;
  record.y.mutable_data()[at] = static_cast<Scalar>(sum.numerator / sum.denominator);
  record.inverse.mutable_data()[at] = 0;
  single.log_total = static_cast<Scalar>(sum.maximum - wide(record.reference_row(b, block)[c]) +
                                         std::log(sum.denominator));
}

AftSingleGradient aft_single_gradient(const AftProblem& p, const AftRecord& record, Scalar dy,
                                      int64_t b, int64_t group, const AftSingle& single,
                                      int64_t j) {
  int64_t i = single.query, c = single.channel;
  int64_t at = (b * p.T + i) * p.C + c;
  double exponent = wide(p.key_row(b, j)[c]) - wide(record.reference_row(b, i / p.rows())[c]) +
                    wide(p.bias_at(group, i, j)) - wide(single.log_total);
  double probability = std::exp(exponent);
  if (probability == 0) return {0, 0};
  double dvalue = probability * wide(dy);
  double dkey = dvalue * (wide(p.value_row(b, j)[c]) - wide(record.y.data()[at]));
  return {static_cast<Scalar>(dkey), static_cast<Scalar>(dvalue)};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
