#include "ops/dropout.h"

#include <cmath>
#include <set>

#include "core/machine/parallel.h"
#include "core/random.h"
#include "nn/context.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// 0 or 1 / (1 - rate), from the n-th uniform number: word n mod 4 of block n / 4.
double factor_of(const DropoutPattern& pattern, int64_t n) {
  auto block = static_cast<uint64_t>(n / 4);
  uint32_t word = philox(pattern.seed, pattern.stream, block)[static_cast<size_t>(n % 4)];
  return unit_interval(word) >= pattern.rate ? 1 / (1 - pattern.rate) : 0;
}

std::vector<Scalar> factors(const DropoutPattern& pattern, int64_t first, int64_t count) {
  std::vector<Scalar> result(static_cast<size_t>(count));
  pattern.factors(first, count, result.data());
  return result;
}

Numbers dropped(const DropoutPattern& pattern, const Numbers& x) {
  Numbers y(x.shape);
  for (size_t n = 0; n < y.values.size(); ++n) {
    // The factor itself is rounded to a Scalar.
    double factor = factor_of(pattern, static_cast<int64_t>(n));
    y.values[n] = x.values[n] * Bounded(factor, epsilon * factor, factor);
  }
  return y;
}

Numbers sum(const Numbers& a, const Numbers& b) {
  Numbers y(a.shape);
  for (size_t n = 0; n < y.values.size(); ++n) y.values[n] = a.values[n] + b.values[n];
  return y;
}

std::vector<OpRow> rows() {
  using In = std::vector<Tensor>;
  using Reference = std::vector<Numbers>;
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{0, 3}})
    for (double rate : {0.0, 0.1, 0.5, 0.9}) {
      DropoutPattern pattern{42, 7, rate};
      rows.push_back({text("dropout at ", rate),
                      {shape},
                      [pattern](const In& in) { return dropout(in[0], pattern); },
                      [pattern](const Reference& in) { return dropped(pattern, in[0]); }});
      rows.push_back(
          {text("add_dropped at ", rate),
           {shape, shape},
           [pattern](const In& in) { return add_dropped(in[0], in[1], pattern); },
           [pattern](const Reference& in) { return sum(in[0], dropped(pattern, in[1])); }});
      rows.push_back(
          {text("add_dropped to itself at ", rate),
           {shape},
           [pattern](const In& in) { return add_dropped(in[0], in[0], pattern); },
           [pattern](const Reference& in) { return sum(in[0], dropped(pattern, in[0])); }});
    }
  return rows;
}

}  // namespace

TEST_CASE("dropout, add_dropped: values and gradients") { check_rows(rows()); }

TEST_CASE("the factors are those of the numbered random words") {
  for (double rate : {0.0, 0x1p-40, 0.25, 0.5, 0.99, 1 - 0x1p-40}) {
    DropoutPattern pattern{1, 2, rate};
    std::vector<Scalar> got = factors(pattern, 0, 1000);
    for (int64_t n = 0; n < 1000; ++n)
      CHECK(got[static_cast<size_t>(n)] == static_cast<Scalar>(factor_of(pattern, n)));
  }
}

TEST_CASE("a number just below the rate is dropped, one at the rate is kept") {
  uint32_t word = philox(1, 2, 0)[0];
  CHECK(factors({1, 2, word * 0x1p-32}, 0, 1)[0] != 0);
  CHECK(factors({1, 2, (word + 0.5) * 0x1p-32}, 0, 1)[0] == 0);
  CHECK(factors({1, 2, (word - 0.5) * 0x1p-32}, 0, 1)[0] != 0);
}

TEST_CASE("pieces of the factors agree with the whole") {
  DropoutPattern pattern{3, 4, 0.5};
  std::vector<Scalar> whole = factors(pattern, 0, 50);
  for (int64_t first = 0; first < 10; ++first)
    for (int64_t count = 0; count < 20; ++count) {
      std::vector<Scalar> piece = factors(pattern, first, count);
      CHECK(std::equal(piece.begin(), piece.end(), whole.begin() + first));
    }
  int64_t far = int64_t{1} << 33;
  whole = factors(pattern, far, 6);
  whole.erase(whole.begin());
  CHECK(factors(pattern, far + 1, 5) == whole);
}

TEST_CASE("the pattern depends on seed and stream, and on nothing else") {
  Tensor x = Tensor::full({200}, 1);
  auto kept = [&](uint64_t seed, uint64_t stream) {
    return dropout(x, {seed, stream, 0.5}).values();
  };
  CHECK(kept(1, 2) == kept(1, 2));
  CHECK(std::set{kept(1, 2), kept(2, 1), kept(1, 3), kept(2, 2)}.size() == 4);
  CHECK(dropout(reshape(x, {10, 20}), {1, 2, 0.5}).values() == kept(1, 2));
  // Nor on the number of threads, in a tensor of many tiles.
  Tensor large = Tensor::full({50001}, 1);
  std::vector<Scalar> alone;
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    std::vector<Scalar> values = dropout(large, {1, 2, 0.5}).values();
    if (threads == 1) alone = values;
    CHECK(values == alone);
    CHECK(values == factors({1, 2, 0.5}, 0, 50001));
  }
}

TEST_CASE("a part of a tensor is dropped as in the whole") {
  Tensor dropped = dropout(Tensor::full({6, 7, 5}, 1), {1, 2, 0.5});
  for (int64_t first = 0; first < 6; ++first)
    for (int64_t last = first; last <= 6; ++last) {
      DropoutPattern part{1, 2, 0.5, first};
      Tensor x = Tensor::full({last - first, 7, 5}, 1).require_gradient();
      std::vector<Scalar> expected = slice(dropped, 0, first, last).values();
      Tape tape;
      Tensor y = add_dropped(Tensor::zeros(x.shape()), x, part);
      CHECK(dropout(x, part).values() == expected);
      CHECK(y.values() == expected);
      tape.backward(y, Tensor::full(x.shape(), 1));
      CHECK(x.gradient().values() == expected);
    }
}

TEST_CASE("the fraction kept is 1 - rate, and the mean stays") {
  constexpr int64_t count = 200000;
  for (double rate : {0.1, 0.5, 0.8}) {
    double kept = 0;
    std::vector<Scalar> all = factors({9, 9, rate}, 0, count);
    for (Scalar factor : all) kept += factor != 0;
    // Five standard deviations of a binomial count.
    CHECK(std::abs(kept - count * (1 - rate)) < 5 * std::sqrt(count * rate * (1 - rate)));
  }
}

TEST_CASE("what is dropped is 0 for any finite value, and passes no gradient") {
  DropoutPattern pattern{5, 6, 0.5};
  Tensor x = Tensor::full({100}, 3).require_gradient();
  Tape tape;
  Tensor y = dropout(x, pattern);
  tape.backward(y, Tensor::full({100}, 2));
  std::vector<Scalar> values = y.values(), gradient = x.gradient().values();
  for (size_t n = 0; n < 100; ++n) {
    CHECK((values[n] == 0 || values[n] == 6));
    CHECK(gradient[n] == (values[n] == 0 ? 0 : 4));
  }
}

TEST_CASE("what is dropped is 0 and passes nothing on, even if it is not finite") {
  DropoutPattern pattern{.seed = 3, .rate = 0.5};
  std::vector<Scalar> kept = factors(pattern, 0, 40);
  for (Scalar bad : {not_a_number, infinity, -infinity}) {
    Tensor x = Tensor::full({40}, 1).require_gradient(), r = Tensor::full({40}, 2);
    Tensor cotangent = Tensor::full({40}, 1);
    for (int64_t n = 0; n < 40; ++n)
      if (kept[static_cast<size_t>(n)] == 0)
        x.mutable_data()[n] = cotangent.mutable_data()[n] = bad;
    for (bool added : {false, true}) {
      Tape tape;
      Tensor y = added ? add_dropped(r, x, pattern) : dropout(x, pattern);
      for (int64_t n = 0; n < 40; ++n)
        CHECK(y.data()[n] == kept[static_cast<size_t>(n)] + (added ? 2 : 0));
      tape.backward(y, cotangent);
    }
    for (Scalar& factor : kept) factor *= 2;  // of two passes
    CHECK(same_bits(x.gradient().values(), kept));
    for (Scalar& factor : kept) factor /= 2;
  }
}

TEST_CASE("rate 0 is the input itself, and costs nothing") {
  Tensor x = Tensor::full({3}, 1).require_gradient();
  Tape tape;
  Tensor y = dropout(x, {1, 2, 0});
  CHECK(y.shares_storage(x));
  CHECK(tape.size() == 0);
}

TEST_CASE("rates that are none are refused") {
  Tensor x = Tensor::zeros({3});
  CHECK(refusal([&] {
          dropout(x, {0, 0, 1});
        }) == "dropout: a dropout rate of 1, expected 0 to below 1");
  CHECK(refusal([&] {
          add_dropped(x, x, {0, 0, -0.5});
        }) == "add_dropped: a dropout rate of -0.5, expected 0 to below 1");
  CHECK(refusal([&] {
          add_dropped(x, Tensor::zeros({1, 3}), {0, 0, 0.5});
        }) == "add_dropped: [3] and [1, 3], expected equal shapes");
  CHECK(refusal([&] {
          dropout(x, {0, 0, -0.5});
        }) == "dropout: a dropout rate of -0.5, expected 0 to below 1");
  CHECK(refusal([&] {
          dropout(x, {0, 0, std::nan("")});
        }) == "dropout: a dropout rate of nan, expected 0 to below 1");
}

TEST_CASE("dropout: a context refuses a rate out of range, whether it trains or not") {
  for (bool training : {false, true})
    for (double rate : {-0.5, 1.0, std::nan("")}) {
      Context context{.training = training};
      CHECK(refusal([&] { context.drop(Tensor::full({3}, 1), rate); }) ==
            text("dropout: a rate of ", rate, ", expected 0 to below 1"));
    }
}
