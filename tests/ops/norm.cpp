#include "ops/norm.h"

#include "core/machine/parallel.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// w_c r (x_c - mean) + b_c in each row, for a rate r made from q = Σ (x_c - mean)².
template <class RateOf>
Numbers norm_of(const std::vector<Numbers>& in, RateOf rate_of) {
  const Numbers &x = in[0], &weight = in[1], &bias = in[2];
  Numbers y(x.shape);
  int64_t C = x.shape[-1];
  for (size_t row = 0; row < x.values.size(); row += static_cast<size_t>(C)) {
    auto at = [&](int64_t c) { return row + static_cast<size_t>(c); };
    Bounded sum, q;
    for (int64_t c = 0; c < C; ++c) sum += x.values[at(c)];
    Bounded mean = sum / Bounded(static_cast<double>(C));
    for (int64_t c = 0; c < C; ++c) q += (x.values[at(c)] - mean) * (x.values[at(c)] - mean);
    Bounded rate = rate_of(q, static_cast<double>(C));
    for (int64_t c = 0; c < C; ++c)
      y.values[at(c)] = weight(c) * rate * (x.values[at(c)] - mean) + bias(c);
  }
  return y;
}

Numbers layer_norm_of(const std::vector<Numbers>& in, double epsilon) {
  return norm_of(in, [&](const Bounded& q, double n) {
    return Bounded(1) / sqrt(q / Bounded(n) + Bounded(epsilon));
  });
}

Numbers deviation_norm_of(const std::vector<Numbers>& in, double epsilon, bool unbiased) {
  return norm_of(in, [&](const Bounded& q, double n) {
    return Bounded(1) / (sqrt(q / Bounded(unbiased ? n - 1 : n)) + Bounded(epsilon));
  });
}

/// Arrangements that make all elements of a row equal, where a norm has its kink.
std::vector<Arrangement> of_equal_elements(const Dims& shape) {
  if (shape.size() == 1) return {Arrangement::repeating, Arrangement::expanded};
  return {Arrangement::repeating};
}

using In = std::vector<Tensor>;
using Reference = std::vector<Numbers>;

std::vector<OpRow> layer_norm_rows() {
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{4}, Dims{3, 5}, Dims{2, 3, 4}, Dims{1, 1, 7}, Dims{0, 4}})
    for (double epsilon : {1e-5, 0.5}) {
      Dims of_features{shape[-1]};
      rows.push_back({text("layer_norm with ", epsilon),
                      {shape, of_features, of_features},
                      [=](const In& in) { return layer_norm(in[0], in[1], in[2], epsilon); },
                      [=](const Reference& in) { return layer_norm_of(in, epsilon); },
                      -1,
                      1,
                      of_equal_elements(shape)});
    }
  // The same tensor in two places.
  rows.push_back({"layer_norm with one tensor for weight and bias",
                  {{3, 5}, {5}},
                  [](const In& in) { return layer_norm(in[0], in[1], in[1]); },
                  [](const Reference& in) {
                    return layer_norm_of({in[0], in[1], in[1]}, 1e-5);
                  },
                  -1,
                  1,
                  {Arrangement::repeating}});
  rows.push_back({"layer_norm of its weight",
                  {{5}},
                  [](const In& in) { return layer_norm(in[0], in[0], in[0]); },
                  [](const Reference& in) {
                    return layer_norm_of({in[0], in[0], in[0]}, 1e-5);
                  },
                  -1,
                  1,
                  {Arrangement::repeating, Arrangement::expanded}});
  return rows;
}

/// w_c x_c / √(Σ x² / C + ε) in each row, without w_c where there are no weights.
Numbers rms_norm_of(const std::vector<Numbers>& in, double epsilon) {
  Numbers y(in[0].shape);
  auto C = static_cast<size_t>(y.shape[-1]);
  for (size_t n = 0; n < y.values.size(); ++n) {
    Bounded squares;
    for (size_t c = 0; c < C; ++c) {
      const Bounded& x = in[0].values[n / C * C + c];
      squares += x * x;
    }
    Bounded root = sqrt(squares / Bounded(static_cast<double>(C)) + Bounded(epsilon));
    y.values[n] = in[0].values[n] / root;
    if (in.size() > 1) y.values[n] = in[1].values[n % C] * y.values[n];
  }
  return y;
}

std::vector<OpRow> rms_norm_rows() {
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{4}, Dims{3, 5}, Dims{2, 3, 4}, Dims{1, 1, 7}, Dims{0, 4}}) {
    rows.push_back({"rms_norm",
                    {shape, {shape[-1]}},
                    [](const In& in) { return rms_norm(in[0], in[1], 0.5); },
                    [](const Reference& in) { return rms_norm_of(in, 0.5); }});
    rows.push_back({"rms_norm without weights",
                    {shape},
                    [](const In& in) { return rms_norm(in[0]); },
                    [](const Reference& in) { return rms_norm_of(in, epsilon); },
                    0.1,
                    1});
  }
  return rows;
}

std::vector<OpRow> deviation_norm_rows() {
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{3}, Dims{3, 5}, Dims{2, 3, 4}, Dims{0, 4}})
    for (bool unbiased : {true, false})
      for (double epsilon : {1e-6, 0.5}) {
        Dims of_features{shape[-1]};
        rows.push_back(
            {text("deviation_norm with ", epsilon, unbiased ? ", unbiased" : ""),
             {shape, of_features, of_features},
             [=](const In& in) { return deviation_norm(in[0], in[1], in[2], epsilon, unbiased); },
             [=](const Reference& in) { return deviation_norm_of(in, epsilon, unbiased); },
             -1,
             1,
             of_equal_elements(shape)});
      }
  return rows;
}

}  // namespace

TEST_CASE("rms_norm: values and gradients, and zeros stay zeros") {
  check_rows(rms_norm_rows());
  CHECK(rms_norm(Tensor::zeros({2, 3})).values() == std::vector<Scalar>(6));
}

TEST_CASE("layer_norm: values and gradients") { check_rows(layer_norm_rows()); }

TEST_CASE("deviation_norm: values and gradients") { check_rows(deviation_norm_rows()); }

TEST_CASE("norms of equal elements give the bias, and no gradient through the deviation") {
  RandomValues random(3);
  Tensor weight = random.tensor({4}), bias = random.tensor({4}), cotangent = random.tensor({4});
  // dx = r (g - mean(g)) with g = w ⊙ dy, and r at a variance of 0.
  auto expected = [&](double rate) {
    Numbers w = numbers(weight), dy = numbers(cotangent), dx({4});
    Bounded sum;
    for (int64_t c = 0; c < 4; ++c) sum += w(c) * dy(c);
    for (int64_t c = 0; c < 4; ++c) dx(c) = Bounded(rate) * (w(c) * dy(c) - sum / Bounded(4));
    return dx;
  };
  auto check = [&](auto norm, double rate) {
    Tensor x = Tensor::full({4}, 7).require_gradient();
    Tape tape;
    Tensor y = norm(x);
    tape.backward(y, cotangent);
    CHECK(same_bits(y, bias));
    CHECK(mismatch(x.gradient(), expected(rate)) == "");
  };
  check([&](const Tensor& x) { return layer_norm(x, weight, bias, 1e-5); }, 1 / std::sqrt(1e-5));
  for (bool unbiased : {true, false})
    check([&](const Tensor& x) { return deviation_norm(x, weight, bias, 1e-6, unbiased); }, 1e6);
}

TEST_CASE("layer_norm of two elements: their gradient all but vanishes") {
  // With d half their difference, y = ±d / √(d² + ε), of slope ε / (d² + ε)^(3/2).
  constexpr double epsilon_of_norm = 1e-5;
  Tensor x = Tensor::from({2}, std::vector<Scalar>{0.75, 0.25}).require_gradient();
  Tensor one = Tensor::full({2}, 1), zero = Tensor::zeros({2});
  Tape tape;
  Tensor y = layer_norm(x, one, zero, epsilon_of_norm);
  tape.backward(y, Tensor::from({2}, std::vector<Scalar>{3, 1}));
  double d = 0.25, variance = d * d + epsilon_of_norm, rate = 1 / std::sqrt(variance);
  double slope = epsilon_of_norm * rate / variance;
  // The terms that cancel are of the size of rate · 3, and each is rounded a few times.
  double error = 8 * epsilon * rate * 3;
  Numbers expected({2});
  expected(0) = Bounded(slope, error, slope);
  expected(1) = Bounded(-slope, error, slope);
  CHECK(mismatch(x.gradient(), expected) == "");
  Numbers outputs({2});
  outputs(0) = Bounded(d * rate, 8 * epsilon, 1);
  outputs(1) = Bounded(-d * rate, 8 * epsilon, 1);
  CHECK(mismatch(y, outputs) == "");
}

TEST_CASE("norms of rows far from 0 keep their digits") {
  // E[x²] - E[x]² would lose them all. Sums of integers are exact, so nothing is lost by the shift.
  std::vector<Scalar> far{10001, 10002, 10004, 10009}, near{-3, -2, 0, 5};
  Tensor one = Tensor::full({4}, 1), zero = Tensor::zeros({4});
  Reference reference{numbers(Tensor::from({4}, near)), numbers(one), numbers(zero)};
  Tensor x = Tensor::from({4}, far);
  CHECK(mismatch(layer_norm(x, one, zero), layer_norm_of(reference, 1e-5)) == "");
  CHECK(mismatch(deviation_norm(x, one, zero, 1e-6), deviation_norm_of(reference, 1e-6, true)) ==
        "");
}

TEST_CASE("norms have the same bits whatever the number of threads") {
  RandomValues random(5);
  Tensor x = random.tensor({500, 30}).require_gradient();
  Tensor weight = random.tensor({30}).require_gradient();
  Tensor bias = random.tensor({30}).require_gradient();
  Tensor cotangent = random.tensor({500, 30});
  std::vector<std::vector<Scalar>> alone;
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    for (const Tensor& parameter : {x, weight, bias}) parameter.zero_gradient();
    Tape tape;
    Tensor y = layer_norm(x, weight, bias);
    tape.backward(y, cotangent);
    std::vector results{y.values(), x.gradient().values(), weight.gradient().values(),
                        bias.gradient().values()};
    if (threads == 1) alone = results;
    for (size_t n = 0; n < results.size(); ++n) CHECK(same_bits(results[n], alone[n]));
  }
}

TEST_CASE("norms refuse shapes that do not fit, by name") {
  auto zeros = [](const Dims& shape) { return Tensor::zeros(shape); };
  CHECK(refusal([&] {
          rms_norm(zeros({2, 3}), zeros({1}));
        }) == "rms_norm: [2, 3]: weight [1], expected [3]");
  CHECK(refusal([&] {
          rms_norm(zeros({2, 0}));
        }) == "rms_norm: [2, 0], expected […, C] with C of at least 1");
  CHECK(refusal([&] {
          layer_norm(zeros({2, 3}), zeros({4}), zeros({3}));
        }) == "layer_norm: [2, 3]: weight [4] and bias [3], expected [3]");
  CHECK(refusal([&] { layer_norm(zeros({}), zeros({1}), zeros({1})); }) ==
        "layer_norm: [], expected […, C] with C of at least 1");
  CHECK(refusal([&] {
          layer_norm(zeros({3, 0}), zeros({0}), zeros({0}));
        }) == "layer_norm: [3, 0], expected […, C] with C of at least 1");
  CHECK(refusal([&] {
          deviation_norm(zeros({2, 3}), zeros({3}), zeros({2, 3}), 1e-6);
        }) == "deviation_norm: [2, 3]: weight [3] and bias [2, 3], expected [3]");
  CHECK(refusal([&] {
          deviation_norm(zeros({2, 1}), zeros({1}), zeros({1}), 1e-6);
        }) == "deviation_norm: [2, 1], expected at least 2 elements a row");
}

TEST_CASE("rms_norm: rows whose squares no float holds") {
  for (double size : {1e-30, 1e-3, 1e19, 1e38}) {
    Tensor x = Tensor::from({1, 2}, {static_cast<Scalar>(size), static_cast<Scalar>(-2 * size)});
    Tensor y = rms_norm(x.require_gradient(), {}, 0);
    CHECK(y.values()[0] == doctest::Approx(1 / std::sqrt(2.5)));
    CHECK(y.values()[1] == doctest::Approx(-2 / std::sqrt(2.5)));
    Tape tape;
    tape.backward(rms_norm(x, {}, 0), Tensor::from({1, 2}, {1, 0}));
    // (dy - y mean(dy y)) / rms
    double y_0 = 1 / std::sqrt(2.5), rms = size * std::sqrt(2.5);
    CHECK(x.gradient().values()[0] * rms == doctest::Approx(1 - y_0 * y_0 / 2));
    CHECK(x.gradient().values()[1] * rms == doctest::Approx(y_0 * y_0));
  }
}

TEST_CASE("a row to which nothing comes back passes nothing on, even if it is not finite") {
  using Norm = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>;
  const std::vector<Norm> norms = {
      [](auto& x, auto& w, auto& b) { return layer_norm(x, w, b); },
      [](auto& x, auto& w, auto& b) { return deviation_norm(x, w, b, 1e-5); },
      [](auto& x, auto& w, auto&) { return rms_norm(x, w); },
  };
  for (const Norm& norm : norms)
    for (Scalar bad : {not_a_number, infinity, -infinity}) {
      RandomValues random(4);
      Tensor weight = random.tensor({3}).require_gradient();
      Tensor bias = random.tensor({3}), x = random.tensor({2, 3}).require_gradient();
      auto gradients = [&] {
        weight.zero_gradient();
        x.zero_gradient();
        for (int pass = 0; pass < 2; ++pass) {  // the second one adds to the first one's gradient
          Tape tape;
          tape.backward(norm(x, weight, bias), Tensor::from({2, 3}, {0, 0, 0, 1, 2, 4}));
        }
        return std::pair{x.gradient().values(), weight.gradient().values()};
      };
      auto expected = gradients();
      x.mutable_data()[1] = bad;
      CHECK(gradients() == expected);
    }
}

TEST_CASE("norms: epsilon is finite and at least 0") {
  Tensor x = Tensor::from({2}, {1, 2}), w = Tensor::full({2}, 1), b = Tensor::zeros({2});
  for (double epsilon : {-1.0, std::nan(""), HUGE_VAL}) {
    std::string wrong = text(": epsilon ", epsilon, ", expected at least 0");
    CHECK(refusal([&] { layer_norm(x, w, b, epsilon); }) == "layer_norm" + wrong);
    CHECK(refusal([&] { deviation_norm(x, w, b, epsilon); }) == "deviation_norm" + wrong);
    CHECK(refusal([&] { rms_norm(x, w, epsilon); }) == "rms_norm" + wrong);
  }
  layer_norm(x, w, b, 0);
}
