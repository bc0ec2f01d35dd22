#include "ops/attention/tile.h"

#include <hwy/cache_control.h>

#include <cstring>
#include <utility>

#include "core/machine/kernel.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Whether one mask or the other, each of which may be null, hides each of these keys.
bool hide_all(const uint8_t* a, const uint8_t* b, int64_t begin, int64_t end) {
  if (!a) std::swap(a, b);
  if (!a) return begin >= end;
  for (int64_t j = begin; j < end; ++j) {
    const void* seen = std::memchr(a + j, 0, static_cast<size_t>(end - j));
    if (!seen) return true;
    j = static_cast<const uint8_t*>(seen) - a;
    if (!b || !b[j]) return false;
  }
  return true;
}

}  // namespace

CachedVector<Interval> AttentionProblem::all_ranges() const {
  CachedVector<Interval> all(static_cast<size_t>(a.visibility.spans ? B * T : T));
  for (int64_t n = 0; n < std::ssize(all); ++n) {
    all[n] = a.visibility.range(n / T, n % T, T, K);
    if (a.visibility.spans && all[n].begin >= all[n].end) all[n] = {K, 0};  // widens no block
  }
  return all;
}

// Panels of 12 rows and 32 columns fill 96 and 512. The scores and gradients of such a tile take
// half of a second cache of 1 MiB. With 192 queries or with 768 keys nothing is faster; with 384
// keys all takes 3 % longer, since each row of a tile and each key's distances cost more.
int64_t AttentionProblem::block_rows() const { return std::clamp<int64_t>(T, 1, most_rows); }

int64_t AttentionProblem::tile_keys() const { return packs() ? 512 : 2048; }

int64_t AttentionProblem::blocks() const { return divide_up(T, block_rows()); }

int64_t AttentionProblem::strips() const {
  constexpr int64_t enough_tasks = 8;  // the sums of each take as long to add up as a block or two
  return std::clamp<int64_t>(divide_up(enough_tasks, std::max<int64_t>(B * H, 1)), 1,
                             std::max<int64_t>(blocks(), 1));
}

int64_t AttentionProblem::grain(int64_t blocks_of_a_task) const {
  int64_t numbers = std::max<int64_t>(blocks_of_a_task * K * (D + E), 1);
  int64_t products = numbers * block_rows();
  return std::min(divide_up(static_cast<int64_t>(worthwhile_products), products),
                  divide_up(worthwhile_numbers / 2, numbers));
}

bool AttentionProblem::keeps_exponentials() const {
  // With them the backward pass takes a fifth less time, but they are as many as the pairs.
  return K <= 512 && !a.score_function && !a.visibility.sight.always;
}

AttentionBlock::AttentionBlock(const AttentionProblem& its_problem, int64_t head,
                               int64_t its_number)
    : problem(its_problem),
      b(head / problem.H),
      h(head % problem.H),
      number(its_number),
      key_begin(problem.K),
      key_end(0),
      gap{0, problem.K} {
  int64_t end = problem.T - (problem.blocks() - 1 - number) * problem.block_rows();
  first = std::max<int64_t>(end - problem.block_rows(), 0);
  rows = end - first;
  for (int64_t i = first; i < end; ++i) {
    const Interval& range = problem.range(b, i);
    key_begin = std::min(key_begin, range.begin);
    key_end = std::max(key_end, std::min(range.end, problem.K));
    const Interval own = problem.a.visibility.gap(i, problem.T, problem.K);
    gap = {std::max(gap.begin, own.begin), std::min(gap.end, own.end)};
  }
  key_begin = key_begin / part_columns * part_columns;
  gap = {divide_up(gap.begin, part_columns) * part_columns, gap.end / part_columns * part_columns};
  if (gap.begin <= key_begin) key_begin = std::max(key_begin, gap.end);
  if (gap.end >= key_end) key_end = std::min(key_end, gap.begin);
  if (gap.size() <= 0 || gap.begin <= key_begin || gap.end >= key_end) gap = {0, 0};
}

Interval AttentionBlock::tile_from(int64_t begin) const {
  if (gap.contains(begin)) begin = gap.end;
  const int64_t end = begin < gap.begin ? gap.begin : key_end;
  return {begin, std::min(begin + problem.tile_keys(), end)};
}

ConstMatrix AttentionBlock::queries(const Tensor& x) const {
  return rows_of_head(x, b, h).rows_from(first, rows);
}

AttentionTile::AttentionTile(const AttentionBlock& block, const Interval& its_keys)
    : AttentionBlock(block), keys(its_keys.size()) {
  const RelativeAttention& a = problem.a;
  key_begin = its_keys.begin;
  key_end = its_keys.end;
  table_begin = problem.T - first - rows + key_begin;
  distances = keys + rows - 1;
  for (const Tensor* table : {&a.position_rows, &a.position_scores})
    if (table->defined()) distances = std::min(distances, table->size(0) - table_begin);
  inside = {rows - 1, rows + keys - 2, true};
  visible = {keys, -rows};
  for (int64_t i = 0; i < rows; ++i) {
    Interval& range = seen[i];
    range = problem.range(b, first + i);
    range.begin = std::clamp<int64_t>(range.begin - key_begin, 0, keys);
    range.end = std::clamp<int64_t>(range.end - key_begin, range.begin, keys);
    if (range.begin == range.end) continue;
    visible.lowest = std::min(visible.lowest, range.begin - i);
    visible.highest = std::max(visible.highest, range.end - 1 - i);
  }
}

bool AttentionTile::is_hidden() const {
  const Visibility& visibility = problem.a.visibility;
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t *pads = visibility.padding_row(b), *hides = visibility.hidden_row(b, first + i);
    const Interval gap = visibility.gap(first + i, problem.T, problem.K);
    const int64_t begin = key_begin + seen[i].begin, end = key_begin + seen[i].end;
    if (!hide_all(pads, hides, begin, std::min(end, gap.begin)) ||
        !hide_all(pads, hides, std::max(begin, gap.end), end))
      return false;
  }
  return true;
}

Matrix AttentionTile::part_of(const Tensor& exponentials) const {
  int64_t H = exponentials.size(1), T = exponentials.size(2), K = exponentials.size(3);
  Scalar* values = exponentials.mutable_data() + (((b * H) + h) * T + first) * K + key_begin;
  return {values, rows, keys, K, 1};
}

TileList::TileList(const AttentionProblem& problem)
    : most_tiles_(divide_up(problem.K, problem.tile_keys()) + 1) {
  if (!problem.may_leave_out_tiles()) return;
  int64_t blocks = problem.blocks();
  hidden_.resize(static_cast<size_t>(problem.B * blocks * most_tiles_));
  parallel_for(problem.B * blocks, [&](int64_t n) {
    AttentionBlock block(problem, n / blocks * problem.H, n % blocks);
    block.for_tiles([&](int64_t number, const Interval& keys) {
      hidden_[place(block, number)] = AttentionTile(block, keys).is_hidden();
    });
  });
}

void fetch_rows(const ConstMatrix& x) {
  constexpr int64_t line = 64 / sizeof(Scalar);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; j += line) hwy::Prefetch(&x.at(i, j));
}

ConstMatrix rows_of_head(const Tensor& x, int64_t b, int64_t h) {
  const Dims& strides = x.layout().strides;
  return {x.data() + b * strides[0] + h * strides[1], x.size(2), x.size(3), strides[2], strides[3]};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
