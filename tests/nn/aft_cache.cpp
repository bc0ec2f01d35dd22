// AFT's running sums after 100,000 tokens against sums over all of them.

#include "nn/aft_cache.h"

#include <doctest/doctest.h>

#include "ops/concat.h"
#include "tests/support/exact.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/aft.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t token_count = 100'000, C = 2;

/// Tokens whose first half, which becomes the keys, drifts up and down between ±60, and whose
/// second half is random.
Tensor drifting(double drift) {
  RandomValues random(15);
  Tensor x = random.tensor({1, token_count, 2 * C});
  for (int64_t t = 0; t < token_count; ++t)
    for (int64_t c = 0; c < C; ++c)
      x.mutable_data()[t * 2 * C + c] +=
          static_cast<Scalar>(drift * std::sin(static_cast<double>(t) / (7000 + 900.0 * c)));
  return x;
}

/// A row of the matrix is all 0 but for a 1.
void choose(const Tensor& weight, int64_t row, int64_t column) {
  weight.mutable_data()[row * weight.size(1) + column] = 1;
}

/// Makes k the first half of x and v the second, each twice over, and passes y on as it is.
Aft chosen_layer(const Sized<AftConfig>& config, RandomValues& random) {
  Aft layer = random_layer(config, random);
  bool conv = config.form == AftForm::conv;
  Tensor key = conv ? layer.key.weight : slice(layer.qkv.weight, 0, 2 * C, 4 * C);
  Tensor value = conv ? layer.value.weight : slice(layer.qkv.weight, 0, 4 * C, 6 * C);
  for (const Tensor& weight : {key, value, layer.output.weight})
    std::fill_n(weight.mutable_data(), weight.count(), Scalar{0});
  for (int64_t c = 0; c < 2 * C; ++c) {
    if (c < key.size(0)) choose(key, c, c % C);
    choose(value, c, C + c % C);
    choose(layer.output.weight, c, c);
  }
  return layer;
}

/// y_t of channel c, summed over all keys from the greatest on.
Exact direct(const AftBias& w, const Tensor& k, const Tensor& v, int64_t t, int64_t c) {
  auto at = [c](const Tensor& x, int64_t j) {
    return static_cast<Exact>(x.data()[j * x.layout().strides[1] + c]);
  };
  Exact maximum = -INFINITY, above = 0, below = 0;
  for (int64_t j = 0; j <= t; ++j) maximum = std::max(maximum, at(k, j) + w(t, j, c));
  for (int64_t j = 0; j <= t; ++j) {
    Exact weight = std::exp(at(k, j) + w(t, j, c) - maximum);
    above += weight * at(v, j);
    below += weight;
  }
  return above / below;
}

void check_sums(const Sized<AftConfig>& config, double drift) {
  CAPTURE(config.form);
  CAPTURE(drift);
  RandomValues random(16);
  Aft layer = chosen_layer(config, random);
  Tensor x = drifting(drift);
  auto [gate, k, v, band, visibility] = layer.project(x, {});
  std::unique_ptr<Cache> cache = layer.make_cache();
  Tensor y = feed(layer, *cache, x, cuts({1, 2, 30, 500}, token_count));
  Weights weights(layer);
  AftBias w(config, weights);
  double error = 0, largest = 0;
  for (int64_t t = token_count - 1; t > 0; t = t * 4 / 7)
    for (int64_t c = 0; c < 2 * C; ++c) {
      auto open = static_cast<Exact>(gate.data()[t * 2 * C + c]);
      Exact expected = open * direct(w, k, v, t, c);
      auto got = static_cast<Exact>(y.data()[t * 2 * C + c]);
      error = std::max(error, static_cast<double>(std::abs(got - expected)));
      largest = std::max(largest, static_cast<double>(std::abs(expected)));
    }
  CHECK(error <= exactness * largest);
}

}  // namespace

TEST_CASE("running sums are exact after 100,000 tokens, wherever the keys drift") {
  for (double drift : {0, 60}) {
    check_sums({{.form = AftForm::simple, .bias = false}, {2 * C}}, drift);
    check_sums({{.form = AftForm::conv, .window = 7, .bias = false}, {2 * C, 2}}, drift);
    check_sums({{.form = AftForm::local,
                 .max_len = token_count,
                 .window = 7,
                 .bias = false,
                 .factor_rank = 2},
                {2 * C}},
               drift);
  }
}

TEST_CASE("members change places with all that is kept of them") {
  for (auto [near, older] :
       {std::pair{3, AftCache::Older::summed}, std::pair{3, AftCache::Older::forgotten}}) {
    RandomValues random(17);
    Tensor key = random.tensor({2, 9, C}), value = random.tensor({2, 9, C});
    const std::vector<int64_t> members = {1, 1, 0};
    auto chosen = [&](const Tensor& x) {
      std::vector<Tensor> parts;
      for (int64_t member : members) parts.push_back(x[member]);
      return stack(parts);
    };
    auto fed = [&](AftCache& cache, const Tensor& k, const Tensor& v, int64_t begin, int64_t end) {
      Tensor keys = slice(k, 1, begin, end), values = slice(v, 1, begin, end);
      if (!cache.sums()) return cache.append(keys, values).second;
      AftBand band{Tensor::full({1, end - begin, near}, 1), begin - near + 1, 1};
      return cache.feed(keys, values, band);
    };
    AftCache cache(near, older), expected(near, older);
    fed(cache, key, value, 0, 7);
    fed(expected, chosen(key), chosen(value), 0, 7);
    cache.reorder(members);
    Tensor y = fed(cache, chosen(key), chosen(value), 7, 9);
    CHECK(same_bits(y, fed(expected, chosen(key), chosen(value), 7, 9)));
    CHECK_FALSE(same_bits(y[0], y[2]));
  }
}
