// The rows r_δ = W_r R_δ that the layer makes of distances, clamped on either side.

#include "nn/transformer_xl_attention.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ops/shape.h"
#include "tests/support/layer_rows.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/attention.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// A layer whose W_r is the identity, so that its rows are the sinusoids themselves.
TransformerXLAttention with_plain_rows(const Sized<TransformerXLAttentionConfig>& config) {
  Random start;
  TransformerXLAttention layer(config, config, start);
  Scalar* W = layer.position.weight.mutable_data();
  std::fill_n(W, layer.position.weight.count(), Scalar{0});
  for (int64_t c = 0; c < config.d_model; ++c) W[c * config.d_model + c] = 1;
  return layer;
}

/// The sinusoids of these distances, a row for each.
Values rows_of(const std::vector<int64_t>& distances, int64_t C) {
  Values rows({std::ssize(distances), C});
  for (size_t n = 0; n < distances.size(); ++n) {
    std::vector<double> row = sinusoid_row(distances[n], C);
    std::ranges::copy(row, rows.values.begin() + static_cast<std::ptrdiff_t>(n) * C);
  }
  return rows;
}

}  // namespace

TEST_CASE("distances beyond clamp_len share its sinusoid, in the past and in the future") {
  Sized config{TransformerXLAttentionConfig{.sight = {.causal = false}}, {8, 2}};
  auto table = [&](int64_t farthest, int64_t nearest) {
    Context context;
    Tensor rows = with_plain_rows(config).position_table(farthest, nearest, context);
    CHECK(rows.shape() == Dims{farthest - nearest + 1, 2, 4});
    return reshape(rows, {farthest - nearest + 1, 8});
  };
  auto shows = [&](int64_t farthest, int64_t nearest, const std::vector<int64_t>& distances) {
    return relative_error(table(farthest, nearest), rows_of(distances, 8)) <= exactness;
  };
  CHECK(shows(4, -4, {4, 3, 2, 1, 0, -1, -2, -3, -4}));
  config.clamp_len = 2;
  CHECK(shows(4, -4, {2, 2, 2, 1, 0, -1, -2, -2, -2}));
  CHECK(shows(4, 0, {2, 2, 2, 1, 0}));
  CHECK(shows(1, -3, {1, 0, -1, -2, -2}));
  config.clamp_len = 1;
  CHECK(shows(2, -2, {1, 1, 0, -1, -1}));
  config.clamp_len = 0;
  CHECK(shows(2, -2, {2, 1, 0, -1, -2}));
}

TEST_CASE("dropout of the sinusoids, in training alone, is the same for all members of a batch") {
  TransformerXLAttention layer = with_plain_rows({{.dropout = 0.5}, {8, 2}});
  auto table = [&](bool training, int64_t first_member) {
    Context context;
    context.training = training;
    context.random.seed = 7;
    context.first_member = first_member;
    return layer.position_table(5, 0, context);
  };
  Tensor all = table(false, 0), dropped = table(true, 0);
  std::vector<Scalar> whole = all.values(), kept = dropped.values();
  int64_t zeros = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    CHECK((kept[n] == 0 || kept[n] == 2 * whole[n]));
    if (kept[n] == 0 && whole[n] != 0) ++zeros;
  }
  CHECK(zeros > 10);
  CHECK(zeros < 40);
  CHECK(same_bits(table(true, 3), dropped));
}
