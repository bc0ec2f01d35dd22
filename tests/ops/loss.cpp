#include "ops/loss.h"

#include <cmath>

#include "core/machine/parallel.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
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

/// -Σ_v t_v (x_v - log Σ_w e^x_w) of each row: with e^x_w / e^m below, where m is the greatest.
std::vector<Bounded> smoothed_losses_of(const Numbers& logits, const Tokens& targets,
                                        double smoothing) {
  std::vector<Bounded> losses;
  int64_t V = logits.shape[-1];
  for (size_t n = 0; n < targets.values.size(); ++n) {
    Bounded loss;
    for (int64_t v = 0; v < V; ++v) {
      double t = smoothing / static_cast<double>(V) + (v == targets.values[n] ? 1 - smoothing : 0);
      Tokens token{{1}, {static_cast<int32_t>(v)}};
      Numbers row({1, V});
      std::copy_n(&logits.values[n * static_cast<size_t>(V)], V, row.values.begin());
      loss += Bounded(t) * losses_of(row, token)[0];
    }
    losses.push_back(loss);
  }
  return losses;
}

/// The mean over the rows whose target is not ignored.
Numbers mean_oracle(const Numbers& logits, const Tokens& targets,
                    const CrossEntropyOptions& options) {
  Tokens known = targets;  // one that is ignored may be no token
  for (int32_t& target : known.values)
    if (target == options.ignored) target = 0;
  std::vector<Bounded> losses = smoothed_losses_of(logits, known, options.label_smoothing);
  Bounded sum;
  double rows = 0;
  for (size_t n = 0; n < losses.size(); ++n)
    if (targets.values[n] != options.ignored) {
      sum += losses[n];
      ++rows;
    }
  Numbers mean(Dims{});
  mean.values[0] = sum / Bounded(rows);
  return mean;
}

struct LossCase {
  Dims logits;
  Tokens targets;
};

const std::vector<LossCase> loss_cases = {
    {{3}, {{}, {1}}},           {{1}, {{}, {0}}},
    {{2, 5}, {{2}, {4, 0}}},    {{2, 3, 4}, {{2, 3}, {0, 3, 1, 2, 2, 2}}},
    {{3, 1}, {{3}, {0, 0, 0}}},
};

std::vector<OpRow> loss_rows() {
  std::vector<OpRow> rows;
  for (const auto& [logits, targets] : loss_cases)
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

/// With label smoothing, and rows that are ignored.
std::vector<OpRow> option_rows() {
  Tokens targets{{2, 3}, {0, 3, 1, 2, 2, 2}}, with_fill{{2, 3}, {0, -1, 1, -1, -1, 2}};
  std::vector<OpRow> rows;
  auto add = [&](const Dims& logits, const Tokens& given, const CrossEntropyOptions& options) {
    rows.push_back(
        {text("cross_entropy with smoothing ", options.label_smoothing),
         {logits},
         [=](const std::vector<Tensor>& in) { return cross_entropy(in[0], given, options); },
         [=](const std::vector<Numbers>& in) { return mean_oracle(in[0], given, options); },
         -3,
         3});
  };
  for (double smoothing : {0.1, 0.5, 1.0}) add({2, 3, 4}, targets, {.label_smoothing = smoothing});
  for (double smoothing : {0.0, 0.2})
    add({2, 3, 4}, with_fill, {.label_smoothing = smoothing, .ignored = -1});
  add({2, 3, 4}, targets, {.label_smoothing = 0.1, .ignored = 2});
  add({3, 1}, {{3}, {0, 0, 0}}, {.label_smoothing = 0.3});
  return rows;
}

/// The loss of one row.
double loss_of(const std::vector<Scalar>& row, int32_t target) {
  Tensor logits = Tensor::from({1, static_cast<int64_t>(row.size())}, row);
  return token_losses(logits, {{1}, {target}})[0];
}

}  // namespace

TEST_CASE("cross_entropy: values and gradients") { check_rows(loss_rows()); }

TEST_CASE("cross_entropy with label smoothing and ignored rows: values and gradients") {
  check_rows(option_rows());
}

// torch.nn.functional.cross_entropy(
//     torch.tensor([[1., -2., 0.5], [0., 3., -1.], [2., 2., 2.]], dtype=torch.float64),
//     torch.tensor([0, 2, -1]), label_smoothing=0.1, ignore_index=-1)
TEST_CASE("cross_entropy with label smoothing is PyTorch's") {
  Tensor logits = Tensor::from({3, 3}, std::vector<Scalar>{1, -2, 0.5, 0, 3, -1, 2, 2, 2});
  Tensor loss = cross_entropy(logits, {{3}, {0, 2, -1}}, {.label_smoothing = 0.1, .ignored = -1});
  CHECK(static_cast<double>(loss.item()) == doctest::Approx(2.2602404030498566).epsilon(1e-6));
}

TEST_CASE("an ignored row may hold anything, and gets no gradient") {
  Tensor logits =
      Tensor::from({3, 2}, std::vector<Scalar>{1, 2, not_a_number, infinity, -infinity, 0});
  logits.require_gradient();
  Tape tape;
  Tensor loss = cross_entropy(logits, {{3}, {0, 7, 7}}, {.label_smoothing = 0.2, .ignored = 7});
  tape.backward(loss);
  Tensor alone = Tensor::from({1, 2}, std::vector<Scalar>{1, 2}).require_gradient();
  Tape own;
  Tensor expected = cross_entropy(alone, {{1}, {0}}, {.label_smoothing = 0.2});
  own.backward(expected);
  CHECK(same_bits(loss, expected));
  std::vector<Scalar> slopes = alone.gradient().values();
  slopes.resize(6, 0);
  CHECK(same_bits(logits.gradient().values(), slopes));
}

TEST_CASE("token_losses: the loss of each token, at any arrangement") {
  for (const LossCase& c : loss_cases)
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
        }) == "token_losses: target 3, expected 0 to 2");
  CHECK(refusal([&] {
          cross_entropy(logits, {{3}, {0, 0, 0}});
        }) == "cross_entropy: logits of [2, 3] for targets of [3], expected […, V] and […]");
  CHECK(refusal([&] {
          cross_entropy(Tensor::zeros({}), {{}, {0}});
        }) == "cross_entropy: logits of [] for targets of [], expected […, V] and […]");
  CHECK(refusal([&] {
          cross_entropy(Tensor::zeros({0, 3}), {{0}, {}});
        }) == "cross_entropy: logits of [0, 3], expected at least one row and one token");
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {0, 1}}, {.label_smoothing = 1.5});
        }) == "cross_entropy: label_smoothing 1.5, expected 0 to 1");
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {5, 5}}, {.ignored = 5});
        }) == "cross_entropy: every target is the ignored one, 5");
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {5, -1}}, {.ignored = 5});
        }) == "cross_entropy: target -1, expected 0 to 2");
  CHECK(refusal([&] {
          cross_entropy(logits, {{2}, {0}});
        }) == "cross_entropy: targets: 1 values for the shape [2]");
}
