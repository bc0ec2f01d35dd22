#include "ops/softmax.h"

#include <cmath>

#include "ops/shape.h"
#include "tests/support/masks.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// p_j = e^(f x_j - m) / Σ_k e^(f x_k - m) over the seen keys, with m the greatest f x_k.
Numbers masked_softmax_of(const Numbers& x, const Visibility& visibility, Scalar factor) {
  Numbers p(x.shape);
  Bounded f(static_cast<double>(factor));
  int64_t T = x.shape[2], K = x.shape[3];
  for_each_index({x.shape[0], x.shape[1], T}, [&](const Dims& row) {
    int64_t b = row[0], h = row[1], i = row[2];
    Bounded greatest(-std::numeric_limits<double>::infinity()), total;
    for (int64_t j = 0; j < K; ++j)
      if (is_seen(visibility, b, i, j, T, K))
        if (Bounded score = f * x(b, h, i, j); score.value > greatest.value) greatest = score;
    for (int64_t j = 0; j < K; ++j)
      if (is_seen(visibility, b, i, j, T, K)) {
        p(b, h, i, j) = exp(f * x(b, h, i, j) - greatest);
        total += p(b, h, i, j);
      }
    for (int64_t j = 0; j < K; ++j)
      if (is_seen(visibility, b, i, j, T, K)) p(b, h, i, j) = p(b, h, i, j) / total;
  });
  return p;
}

struct Case {
  std::string name;
  int64_t T, K;
  Visibility visibility;
};

/// All for B = 2.
std::vector<Case> cases() {
  std::vector<Case> result;
  for (auto [T, K] : {std::pair{3, 3}, {3, 5}, {4, 2}, {1, 4}, {3, 1}}) {
    result.push_back({"nothing hidden", T, K, {}});
    result.push_back({"causal", T, K, {{true}}});
    result.push_back({"window", T, K, {{false, 2}}});
    result.push_back({"causal window", T, K, {{true, 2}}});
    result.push_back({"padding", T, K, {{false}, some({2, K})}});
    result.push_back({"one member is padding", T, K, {{false}, one_member({2, K}, 1)}});
    for (const Dims& shape :
         {Dims{T, K}, Dims{1, K}, Dims{2, T, K}, Dims{1, T, K}, Dims{2, 1, K}, Dims{1, 1, K}})
      result.push_back({text("hidden ", shape), T, K, {{false}, {}, some(shape)}});
    result.push_back({"all at once", T, K, {{true, 2}, some({2, K}), some({2, T, K})}});
  }
  result.push_back({"no keys", 3, 0, {{true}}});
  result.push_back({"no queries", 0, 3, {}});
  return result;
}

std::vector<OpRow> masked_rows() {
  std::vector<OpRow> rows;
  for (const auto& [name, T, K, visibility] : cases())
    for (Scalar factor : {Scalar{1}, Scalar{-0.375}}) {
      if (factor != 1 && name != "causal" && name != "all at once") continue;
      rows.push_back({text("masked_softmax, ", name, ", times ", factor),
                      {{2, 1, T, K}},
                      [=, v = visibility](const std::vector<Tensor>& in) {
                        return masked_softmax(in[0], v, factor);
                      },
                      [=, v = visibility](const std::vector<Numbers>& in) {
                        return masked_softmax_of(in[0], v, factor);
                      },
                      -2,
                      2});
    }
  rows.push_back({"masked_softmax of heads",
                  {{1, 3, 2, 3}},
                  [](const std::vector<Tensor>& in) {
                    return masked_softmax(in[0], {{true}}, 0.5);
                  },
                  [](const std::vector<Numbers>& in) {
                    return masked_softmax_of(in[0], {{true}}, 0.5);
                  }});
  return rows;
}

std::vector<OpRow> plain_rows() {
  std::vector<OpRow> rows;
  for (const Dims& shape :
       {Dims{1}, Dims{5}, Dims{3, 4}, Dims{2, 3, 4}, Dims{2, 1, 2, 1, 3}, Dims{3, 0}, Dims{0, 3}})
    rows.push_back({"softmax",
                    {shape},
                    [](const std::vector<Tensor>& in) { return softmax(in[0]); },
                    [](const std::vector<Numbers>& in) {
                      int64_t K = in[0].shape[-1], rows = K == 0 ? 0 : product(in[0].shape) / K;
                      Numbers flat = in[0];
                      flat.shape = {1, 1, rows, K};
                      Numbers p = masked_softmax_of(flat, {}, 1);
                      p.shape = in[0].shape;
                      return p;
                    },
                    -2,
                    2});
  return rows;
}

/// x_j - m - log Σ_k e^(x_k - m) along an axis, with m the greatest x_k.
Numbers log_softmax_of(const Numbers& x, int axis) {
  Numbers y(x.shape);
  for_each_index(x.shape, [&](const Dims& at) {
    Dims index = at;
    Bounded greatest(-std::numeric_limits<double>::infinity()), total;
    for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis])
      if (x.at(index).value > greatest.value) greatest = x.at(index);
    for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis])
      total += exp(x.at(index) - greatest);
    y.at(at) = x.at(at) - greatest - log(total);
  });
  return y;
}

std::vector<OpRow> log_softmax_rows() {
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{1}, Dims{5}, Dims{3, 4}, Dims{2, 3, 4}, Dims{3, 0}, Dims{0, 3}})
    for (int axis = 0; axis < shape.size(); ++axis)
      rows.push_back(
          {text("log_softmax along ", axis),
           {shape},
           [=](const std::vector<Tensor>& in) { return log_softmax(in[0], axis - shape.size()); },
           [=](const std::vector<Numbers>& in) { return log_softmax_of(in[0], axis); },
           -2,
           2});
  return rows;
}

/// The softmax, and the gradient of its input from a random cotangent.
struct Results {
  std::vector<Scalar> p, gradient;
};

Results results(const Tensor& scores, const Visibility& visibility) {
  Tensor x = Tensor::from(scores.shape(), scores.values()).require_gradient();
  Tape tape;
  Tensor p = masked_softmax(x, visibility, 0.5);
  tape.backward(p, RandomValues(8).tensor(x.shape()));
  return {p.values(), x.gradient().values()};
}

}  // namespace

TEST_CASE("masked_softmax: values and gradients under every kind of mask") {
  check_rows(masked_rows());
}

TEST_CASE("softmax: values and gradients") { check_rows(plain_rows()); }

TEST_CASE("log_softmax: values and gradients") { check_rows(log_softmax_rows()); }

TEST_CASE("log_softmax of great scores keeps its digits, and specials are those of torch") {
  auto row = [](std::initializer_list<Scalar> x) {
    return log_softmax(Tensor::from({static_cast<int64_t>(x.size())}, x)).values();
  };
  CHECK(row({10000, 10000}) == std::vector<Scalar>{-std::log(Scalar{2}), -std::log(Scalar{2})});
  CHECK(row({1e30f, 0}) == std::vector<Scalar>{0, -1e30f});
  CHECK(row({-infinity, 3}) == std::vector<Scalar>{-infinity, 0});
  for (const auto& x : {row({-infinity, -infinity}), row({infinity, 1}), row({not_a_number, 1})})
    for (Scalar value : x) CHECK(std::isnan(value));

  Tensor x = Tensor::from({3}, {-infinity, 1, 2}).require_gradient();
  Tape tape;
  tape.backward(log_softmax(x), Tensor::from({3}, {5, 5, 5}));
  CHECK(x.gradient()[0].item() == 5);
  CHECK(static_cast<double>(x.gradient()[2].item()) == doctest::Approx(-5.965878679450073));
}

TEST_CASE("masked_softmax: whatever a hidden score is, no other bit changes") {
  for (const Case& c : cases()) {
    int64_t T = c.T, K = c.K;
    CAPTURE(c.name);
    CAPTURE(T);
    CAPTURE(K);
    Tensor scores = RandomValues(9).tensor({2, 2, T, K});
    Results expected = results(scores, c.visibility);
    for (Scalar poison : {not_a_number, Scalar{1e30}, Scalar{-1e30}, infinity, -infinity}) {
      Tensor poisoned = Tensor::from(scores.shape(), scores.values());
      for_each_index(scores.shape(), [&](const Dims& index) {
        if (!is_seen(c.visibility, index[0], index[2], index[3], T, K))
          poisoned.mutable_data()[position(poisoned.layout(), index)] = poison;
      });
      Results got = results(poisoned, c.visibility);
      CHECK(same_bits(got.p, expected.p));
      CHECK(same_bits(got.gradient, expected.gradient));
    }
  }
}

TEST_CASE("masked_softmax: a hidden key gets exactly 0, and no gradient") {
  for (const Case& c : cases()) {
    int64_t T = c.T, K = c.K;
    CAPTURE(c.name);
    Results got = results(RandomValues(9).tensor({2, 2, T, K}), c.visibility);
    size_t n = 0;
    for_each_index({2, 2, T, K}, [&](const Dims& index) {
      bool seen = is_seen(c.visibility, index[0], index[2], index[3], T, K);
      CHECK((got.p[n] != 0) == seen);
      if (!seen) CHECK(got.gradient[n] == 0);
      ++n;
    });
  }
}

TEST_CASE("masked_softmax: what a hidden key's cotangent is changes no bit of the gradients") {
  Tensor x = RandomValues(9).tensor({1, 1, 3, 3}).require_gradient();
  auto gradient = [&](Scalar of_hidden) {
    Tensor cotangent = RandomValues(8).tensor({3, 3});
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = i + 1; j < 3; ++j) cotangent.mutable_data()[i * 3 + j] = of_hidden;
    x.zero_gradient();
    Tape tape;
    tape.backward(masked_softmax(x, {{true}}, 1), reshape(cotangent, {1, 1, 3, 3}));
    return x.gradient().values();
  };
  CHECK(same_bits(gradient(not_a_number), gradient(0)));
  CHECK(same_bits(gradient(infinity), gradient(0)));
}

TEST_CASE("masked_softmax: a query that sees no key gets 0 everywhere and passes nothing on") {
  Visibility visibility{{false}, {}, std::make_shared<Mask>(Mask{{2, 3}, {1, 1, 1, 0, 0, 0}})};
  Tensor x = Tensor::full({1, 1, 2, 3}, 4).require_gradient();
  Tape tape;
  Tensor p = masked_softmax(x, visibility, 1);
  CHECK(slice(p, 2, 0, 1).values() == std::vector<Scalar>{0, 0, 0});
  Tensor cotangent = Tensor::full({1, 1, 2, 3}, infinity);
  std::copy_n(std::vector<Scalar>{1, 2, 3}.data(), 3, cotangent.mutable_data() + 3);
  tape.backward(p, cotangent);
  std::vector<Scalar> gradient = x.gradient().values();
  CHECK(gradient[0] == 0);
  CHECK(gradient[1] == 0);
  CHECK(gradient[2] == 0);
  CHECK(gradient[3] < 0);
  CHECK(gradient[5] > 0);
}

TEST_CASE("softmax of great scores does not overflow, and a seen NaN is not lost") {
  auto row = [](const std::vector<Scalar>& x) {
    return softmax(Tensor::from({static_cast<int64_t>(x.size())}, x)).values();
  };
  CHECK(row({10000, 10000, -10000}) == std::vector<Scalar>{0.5, 0.5, 0});
  CHECK(row({1e30f, 1e30f}) == std::vector<Scalar>{0.5, 0.5});
  CHECK(row({-infinity, 3}) == std::vector<Scalar>{0, 1});
  for (Scalar p : row({1, not_a_number, 2})) CHECK(std::isnan(p));
}

TEST_CASE("softmax of a row does not depend on the others") {
  Tensor x = RandomValues(4).tensor({2, 3, 40, 50});
  Visibility causal{{true}};
  Tensor all = masked_softmax(x, causal, 2);
  for (int64_t b : {0, 1}) {
    Tensor one = masked_softmax(slice(x, 0, b, b + 1), causal, 2);
    CHECK(same_bits(one, slice(all, 0, b, b + 1)));
  }
}

TEST_CASE("softmax refuses shapes and masks that do not fit, by name") {
  CHECK(refusal([] {
          masked_softmax(Tensor::zeros({2, 3, 4}), {}, 1);
        }) == "softmax: scores of [2, 3, 4], expected [B, H, T, K]");
  CHECK(refusal([] { softmax(Tensor::zeros({})); }) == "softmax: [], expected at least one axis");
  CHECK(refusal([] { log_softmax(Tensor::zeros({2}), 1); }) ==
        "log_softmax: axis 1 of a tensor with 1 axes");
  Visibility padded{{false}, some({2, 3})};
  CHECK(refusal([&] {
          masked_softmax(Tensor::zeros({2, 1, 3, 4}), padded, 1);
        }) == "softmax: key_padding_mask [2, 3], expected [2, 4]");
}
