#include "shiftgrad/ops/aft/block.h"

#include <algorithm>
#include <cmath>

#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/ops/aft/rows.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Span AftProblem::band(int64_t i) const {
  int64_t begin = std::clamp<int64_t>(first(i), 0, end(i));
  return {begin, std::clamp<int64_t>(first(i) + n, begin, end(i))};
}

Scalar AftProblem::bias_at(int64_t group, int64_t i, int64_t j) const {
  Span near = band(i);
  if (j < near.begin || j >= near.end) return 0;
  const Dims& strides = bias.layout().strides;
  return bias.data()[group * strides[0] + i * strides[1] + (j - first(i)) * strides[2]];
}

Span AftProblem::queries(int64_t block) const {
  return {block * rows(), std::min(T, (block + 1) * rows())};
}

Span AftProblem::keys(int64_t block) const {
  int64_t begin = block * rows() - shift();
  return {std::max<int64_t>(begin, 0), std::min(K, begin + rows())};
}

Span AftProblem::near(int64_t block) const {
  auto [begin, past] = queries(block);
  int64_t low = std::clamp<int64_t>(first(begin), 0, K);
  if (visibility.causal) low = std::min(low, end(begin) - 1);
  int64_t high = visibility.causal ? end(past - 1) : std::clamp<int64_t>(first(past - 1) + n, 0, K);
  int64_t first_block = key_block_of(low);
  return {first_block, high > 0 ? std::max(first_block, key_block_of(high - 1) + 1) : first_block};
}

Span AftProblem::queries_near(int64_t key_block) const {
  Span found{0, query_blocks()};
  while (found.begin < found.end && near(found.begin).end <= key_block) ++found.begin;
  while (found.end > found.begin && near(found.end - 1).begin > key_block) --found.end;
  return found;
}

std::vector<AftPiece> AftProblem::pieces(int64_t group, int64_t widest) const {
  std::vector<AftPiece> result;
  int64_t width = C / G;
  for (int64_t c = 0; c < width; c += widest)
    result.push_back({group * width + c, std::min(widest, width - c)});
  return result;
}

std::vector<AftPiece> AftProblem::all_pieces(int64_t widest) const {
  std::vector<AftPiece> result;
  for (int64_t group = 0; group < G; ++group)
    for (const AftPiece& piece : pieces(group, widest)) result.push_back(piece);
  return result;
}

int64_t AftProblem::chunks() const {
  constexpr int64_t wanted = 16;
  int64_t shared = std::max<int64_t>(query_blocks() * G, 1);
  int64_t parts = std::clamp<int64_t>((wanted + shared - 1) / shared, 1, std::max<int64_t>(B, 1));
  int64_t members = (B + parts - 1) / parts;
  return members == 0 ? 0 : (B + members - 1) / members;
}

AftTask AftProblem::task(int64_t number) const {
  int64_t parts = chunks(), members = (B + parts - 1) / parts, chunk = number % parts;
  return {number / parts / G,
          number / parts % G,
          chunk,
          {chunk * members, std::min(B, (chunk + 1) * members)}};
}

AftRecord::AftRecord(const AftProblem& p)
    : y(Tensor::empty({p.B, p.T, p.C})),
      inverse(Tensor::empty({p.B, p.T, p.C})),
      reference(Tensor::empty({p.B, p.query_blocks(), p.C})),
      top(Tensor::empty({p.G, p.T})),
      singles(static_cast<size_t>(p.B * p.query_blocks() * p.G)) {}

void aft_top(const AftProblem& p, const Tensor& top) {
  Scalar* out = top.mutable_data();
  const Dims& strides = p.bias.layout().strides;
  parallel_for(p.G * p.query_blocks(), [&](int64_t task) {
    int64_t group = task / p.query_blocks();
    Span rows = p.queries(task % p.query_blocks());
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      Span band = p.band(i);
      const Scalar* w = p.bias.data() + group * strides[0] + i * strides[1];
      bool others = band.size() < p.end(i);
      Scalar greatest = others ? 0 : w[(band.begin - p.first(i)) * strides[2]];
      for (int64_t j = band.begin; j < band.end; ++j)
        greatest = std::max(greatest, w[(j - p.first(i)) * strides[2]]);
      out[group * p.T + i] = greatest;
    }
  });
}

void aft_weights(const AftProblem& p, const Tensor& top, int64_t group, Span queries, Span keys,
                 const Matrix& weights) {
  const Dims& strides = p.bias.layout().strides;
  for (int64_t i = queries.begin; i < queries.end; ++i) {
    Scalar* row = weights.data + (i - queries.begin) * weights.row_stride;
    Scalar greatest = top.data()[group * p.T + i];
    int64_t seen = std::clamp<int64_t>(p.end(i) - keys.begin, 0, keys.size());
    std::fill_n(row, seen, -greatest);
    Span band = p.band(i);
    const Scalar* w = p.bias.data() + group * strides[0] + i * strides[1] - p.first(i) * strides[2];
    int64_t end = std::min(band.end, keys.end);
    for (int64_t j = std::max(band.begin, keys.begin); j < end; ++j)
      row[j - keys.begin] = w[j * strides[2]] - greatest;
    simd::map(simd::Unary::exp, row, row, seen);
    std::fill(row + seen, row + keys.size(), Scalar{0});
  }
}

namespace {

/// Puts 0 where the terms of key j are too large or not numbers.
void drop_unfit(Scalar* term, int64_t width, int64_t j, int64_t* first_unfit) {
  auto fits = [](Scalar x) { return std::abs(x) <= largest_term; };
  for (int64_t c = 0; c < width; ++c) {
    if (fits(term[c]) && fits(term[width + c])) continue;
    term[c] = term[width + c] = 0;
    if (first_unfit) first_unfit[c] = std::min(first_unfit[c], j);
  }
}

}  // namespace

void aft_terms(const AftProblem& p, int64_t b, const AftPiece& piece, Span keys, int64_t seen,
               const Scalar* reference, const Matrix& terms, int64_t* first_unfit) {
  for (int64_t j = keys.begin; j < keys.end; ++j) {
    Scalar* term = terms.data + (j - keys.begin) * terms.row_stride;
    if (p.is_padding(b, j)) {
      std::fill_n(term, 2 * piece.width, Scalar{0});
      continue;
    }
    bool fit = aft_rows::terms(p.key_row(b, j) + piece.channel, p.value_row(b, j) + piece.channel,
                               reference, largest_term, term, term + piece.width, piece.width);
    if (j >= seen && !fit) drop_unfit(term, piece.width, j, first_unfit);
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
