#include "nn/positions.h"

#include <doctest/doctest.h>

#include "tests/support/oracles/attention.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("sinusoids are in halves, and precise at any position") {
  std::vector<int64_t> positions{0, 1, 7, 5000, 1'000'000};
  Tensor table = sinusoids("test", positions, 6);
  CHECK(table.shape() == Dims{5, 6});
  Values expected({5, 6});
  for (size_t row = 0; row < positions.size(); ++row)
    for (size_t c = 0; c < 6; ++c) expected(row, c) = sinusoid_row(positions[row], 6)[c];
  CHECK(relative_error(table, expected) <= std::numeric_limits<Scalar>::epsilon());
  CHECK(Values(table)(0, 0) == 0);
  CHECK(Values(table)(0, 3) == 1);
}

TEST_CASE("sinusoids need an even width") {
  CHECK(refusal([] { sinusoids("layer", {0}, 5); }) ==
        "layer: sinusoid positions need an even d_model, not 5");
}

TEST_CASE("rotation turns pairs half a head apart, and scores depend on distances only") {
  RandomValues random(71);
  Tensor x = random.tensor({2, 3, 4, 6}), y = rotate(x, 90'000);
  Values in(x), expected(x.shape());
  for (int64_t row = 0; row < 24; ++row) {
    std::span<const double> head(&in.values[static_cast<size_t>(row * 6)], 6);
    std::ranges::copy(turned(head, 90'000 + row % 4),
                      &expected.values[static_cast<size_t>(row * 6)]);
  }
  CHECK(relative_error(y, expected) <= exactness);
  std::vector<double> q{0.1, 0.5, -0.3, 0.8}, k{0.7, -0.2, 0.4, 0.9};
  auto product = [&](int64_t i, int64_t j) {
    std::vector<double> a = turned(q, i), b = turned(k, j);
    return Pair{a, b, 0, 0, 0}.content();
  };
  CHECK(product(9, 4) == doctest::Approx(product(105, 100)));
  CHECK(product(9, 4) != doctest::Approx(product(9, 5)));
}

TEST_CASE("alibi's slopes are the paper's, for any number of heads") {
  CHECK(alibi_slopes(1) == std::vector<double>{std::exp2(-8)});
  CHECK(alibi_slopes(8) ==
        std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  std::vector<double> of_12 = alibi_slopes(8);
  for (double exponent : {-0.5, -1.5, -2.5, -3.5}) of_12.push_back(std::exp2(exponent));
  CHECK(alibi_slopes(12) == of_12);
  CHECK(alibi_slopes(3) == std::vector<double>{0.0625, 0.00390625, 0.25});
}
