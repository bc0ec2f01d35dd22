// Cuts the work of `aft_mix` into blocks of queries with their windows, and strips of channels.

#include <algorithm>

#include "core/machine/parallel.h"
#include "ops/aft/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

AftProblem AftProblem::in_blocks_of(int64_t queries) const {
  AftProblem p = *this;
  p.rows = queries;
  p.block_size = p.widest_window() * queries;
  return p;
}

int64_t AftProblem::first_query(int64_t b) const {
  int64_t j = 0, i = 0;
  while (j < K && is_padding(b, j)) ++j;
  while (i < T && end(i) <= j) ++i;
  return i;
}

Stretch AftProblem::biased(int64_t i) const {
  int64_t begin = std::clamp<int64_t>(first(i), 0, end(i));
  return {begin, std::clamp<int64_t>(first(i) + n, begin, end(i))};
}

Stretch AftProblem::window(int64_t block) const {
  int64_t query = block * rows, last = std::min(T, query + rows) - 1;
  int64_t begin = std::clamp<int64_t>(first(query), 0, end(query));
  if (visibility.sight.causal) return {begin, end(last)};
  return {begin, std::clamp<int64_t>(first(last) + n, begin, K)};
}

int64_t AftProblem::widest_window() const {
  int64_t widest = 0;
  for (int64_t block = 0; block < blocks(); ++block)
    widest = std::max(widest, window(block).size());
  return widest;
}

std::vector<AftStrip> AftProblem::strips() const {
  std::vector<AftStrip> result;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t group = 0; group < G; ++group)
      for (int64_t c = 0; c < C / G; c += widest_strip)
        result.push_back({std::ssize(result), b, group, group * (C / G) + c,
                          std::min(widest_strip, C / G - c), first_query(b)});
  return result;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
