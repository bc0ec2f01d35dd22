// What queries make of their biases, the weights e^w.
//
// A kernel includes this below `tiles-inl.h`, once for each instruction set.

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();

namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE {

bool make_weights(const AftBlocks& blocks, int64_t group, int64_t block, Number* to) {
  const AftProblem& p = blocks.p;
  Interval window = blocks.window(block);
  const ConstMatrix biases = p.biases(group);
  std::fill_n(to, window.size() * lanes, Number{0});
  bool fit = true;
  int64_t begin = block * lanes, end = std::min(p.T, begin + lanes);
  for (int64_t i = begin; i < end; ++i) {
    Interval band = p.biased(i);
    for (int64_t j = band.begin; j < band.end; ++j) {
      Number bias = static_cast<Number>(biases.at(i, j - p.first(i)));
      fit &= std::abs(bias) <= AftRange<Number>::bias;
      to[(j - window.begin) * lanes + i - begin] = bias;
    }
  }
  Vector* rows = reinterpret_cast<Vector*>(to);
  for (int64_t n = 0; n < window.size(); ++n) rows[n] = exp(rows[n]);
  for (int64_t i = begin; i < begin + lanes; ++i)
    for (int64_t j = i < end ? p.end(i) : window.begin; j < window.end; ++j)
      to[(j - window.begin) * lanes + i - begin] = 0;
  return fit;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION::aft::SHIFTGRAD_AFT_SUMS::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();
