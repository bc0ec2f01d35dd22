// Cuts the work of `aft_mix` into blocks of queries with their windows, and strips of channels.

#include <algorithm>

#include "core/machine/parallel.h"
#include "ops/aft/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

ConstMatrix AftProblem::biases(int64_t group) const {
  const Dims& strides = band.bias.layout().strides;
  return {band.bias.data() + group * strides[0], T, n, strides[1], strides[2]};
}

Interval AftProblem::biased(int64_t i) const {
  int64_t begin = std::clamp<int64_t>(first(i), 0, end(i));
  return {begin, std::clamp<int64_t>(first(i) + n, begin, end(i))};
}

std::vector<AftStrip> AftProblem::all_strips() const {
  std::vector<AftStrip> strips;
  for (int64_t b = 0; b < B; ++b) {
    int64_t j = 0, i = 0;
    while (j < K && is_padding(b, j)) ++j;
    while (i < T && end(i) <= j) ++i;
    for (int64_t group = 0; group < G; ++group)
      for (int64_t c = 0; c < C / G; c += widest_strip)
        strips.push_back({std::ssize(strips), b, group, group * (C / G) + c,
                          std::min(widest_strip, C / G - c), i});
  }
  return strips;
}

Interval AftBlocks::window(int64_t block) const {
  int64_t query = block * rows, last = std::min(p.T, query + rows) - 1;
  int64_t begin = std::clamp<int64_t>(p.first(query), 0, p.end(query));
  if (p.visibility.sight.causal) return {begin, p.end(last)};
  return {begin, std::clamp<int64_t>(p.first(last) + p.n, begin, p.K)};
}

int64_t AftBlocks::widest_window() const {
  int64_t widest = 0;
  for (int64_t block = 0; block < blocks(); ++block)
    widest = std::max(widest, window(block).size());
  return widest;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
