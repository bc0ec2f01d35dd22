#include "ops/loss.h"

#include <cmath>

#include "core/parallel.h"
#include "ops/shape.h"
#include "tests/refusal.h"
#include "tests/support/op_row.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// log Σ_v e^(x_v - m) + m - x_target of each row, with m the greatest of the row.
std::vector<Bounded> losses_of(const Numbers& logits, const Tokens& targets) {
  std::vector<Bounded> losses;
  auto V = static_cast<size_t>(logits.shape[-1]);
  for (size_t n = 0; n < targets.values.size(); ++n) {
    const Bounded* row = &logits.values[n * V];
    Bounded greatest = row[0], total;
    for (size_t v = 1; v < V; ++v)
      if (row[v].value > greatest.value) greatest = row[v];
    for (size_t v = 0; v < V; ++v) total += exp(row[v] - greatest);
    losses.push_back(log(total) + (greatest - row[targets.values[n]]));
  }
  return losses;
}

struct Case {
  Dims logits;
  Tokens targets;
};

const std::vector<Case> cases = {
    {{3}, {{}, {1}}},           {{1}, {{}, {0}}},
    {{2, 5}, {{2}, {4, 0}}},    {{2, 3, 4}, {{2, 3}, {0, 3, 1, 2, 2, 2}}},
    {{3, 1}, {{3}, {0, 0, 0}}},
};

std::vector<OpRow> loss_rows() {
  std::vector<OpRow> rows;
  for (const auto& [logits, targets] : cases)
    rows.push_back({text("cross_entropy of ", targets.shape),
                    {logits},
                    [targets = targets](const std::vector<Tensor>& in) {
                      return cross_entropy(in[0], targets);
                    },
                    [targets = targets](const std::vector<Numbers>& in) {
                      Bounded sum;
                      for (const Bounded& loss : losses_of(in[0], targets)) sum += loss;
                      Numbers mean(Dims{});
                      mean.values[0] = sum / Bounded(static_cast<double>(targets.values.size()));
                      return mean;
                    },
                    -3,
                    3});
  return rows;
}

/// The loss of one row.
double loss_of(const std::vector<Scalar>& row, int32_t target) {
  Tensor logits = Tensor::from({1, static_cast<int64_t>(row.size())}, row);
  return token_losses(logits, {{1}, {target}})[0];
}

}  // namespace

TEST_CASE("cross_entropy: values and gradients") { check_rows(loss_rows()); }

TEST_CASE("token_losses: the loss of each token, at any arrangement") {
  for (const Case& c : cases)
    for (Arrangement arrangement : arrangements) {
      CAPTURE(c.logits);
      RandomValues random(5, -3, 3);
      Tensor logits = Arranged(arrangement, c.logits, random).view;
      std::vector<double> got = token_losses(logits, c.targets);
      std::vector<Bounded> expected = losses_of(numbers(logits), c.targets);
      REQUIRE(got.size() == expected.size());
      for (size_t n = 0; n < got.size(); ++n) CHECK(is_close(got[n], expected[n]));
    }
}

TEST_CASE("token_losses records nothing") {
  Tensor logits = RandomValues(5).tensor({2, 3}).require_gradient();
  Tape tape;
  token_losses(logits, {{2}, {0, 1}});
  CHECK(tape.size() == 0);
}

TEST_CASE("the loss of great logits is finite and right") {
  CHECK(loss_of({10000, -10000, 0}, 0) == 0);
  CHECK(loss_of({10000, -10000, 0}, 1) == 20000);
  CHECK(loss_of({10000, -10000, 0}, 2) == 10000);
  // Equal logits: log 3, wherever they are.
  for (Scalar shift : {Scalar(0), Scalar(1e4), Scalar(-1e4), Scalar(1e30), Scalar(-1e30)}) {
    CAPTURE(shift);
    Bounded expected = log(Bounded(3));
    CHECK(is_close(loss_of({shift, shift, shift}, 1), expected));
  }
  CHECK(loss_of({-infinity, 0}, 1) == 0);
  CHECK(loss_of({-infinity, 0}, 0) == infinity);
  CHECK(std::isnan(loss_of({not_a_number, 0}, 1)));
}

TEST_CASE("the gradient of great logits is finite and right") {
  Tensor logits = Tensor::from({2, 2}, std::vector<Scalar>{1e4f, -1e4f, 1e30f, 1e30f});
  logits.require_gradient();
  Tape tape;
  tape.backward(cross_entropy(logits, {{2}, {1, 0}}));
  CHECK(logits.gradient().values() == std::vector<Scalar>{0.5, -0.5, -0.25, 0.25});
}

TEST_CASE("cross_entropy has the same bits whatever the number of threads") {
  Tensor logits = RandomValues(6).tensor({300, 65}).require_gradient();
  Tokens targets{{300}, {}};
  for (int32_t n = 0; n < 300; ++n) targets.values.push_back(n % 65);
  std::vector<Scalar> alone;
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    logits.zero_gradient();
    Tape tape;
    Tensor loss = cross_entropy(logits, targets);
    tape.backward(loss);
    std::vector<Scalar> results = logits.gradient().values();
    results.push_back(loss.item());
    if (threads == 1) alone = results;
    CHECK(same_bits(results, alone));
  }
}

TEST_CASE("cross_entropy refuses what does not fit, by name") {
  Tensor logits = Tensor::zeros({2, 3});
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {0, 3}});
        }) == "cross_entropy: target 3, expected 0 to 2");
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {-1, 0}});
        }) == "cross_entropy: target -1, expected 0 to 2");
  CHECK(refusal([&] {
          token_losses(logits, {{2}, {0, 3}});
        }) == "cross_entropy: target 3, expected 0 to 2");
  CHECK(refusal([&] {
          cross_entropy(logits, {{3}, {0, 0, 0}});
        }) == "cross_entropy: logits of [2, 3] for targets of [3], expected […, V] and […]");
  CHECK(refusal([&] {
          cross_entropy(Tensor::zeros({}), {{}, {0}});
        }) == "cross_entropy: logits of [] for targets of [], expected […, V] and […]");
  CHECK(refusal([&] {
          cross_entropy(Tensor::zeros({0, 3}), {{0}, {}});
        }) == "cross_entropy: logits of [0, 3] for targets of [0], expected […, V] and […]");
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {0}});
        }) == "cross_entropy: targets: 1 values for the shape [2]");
}
