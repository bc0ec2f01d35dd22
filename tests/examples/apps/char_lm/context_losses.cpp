#include "examples/apps/char_lm/context_losses.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "core/tape.h"
#include "optim/evaluate.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"
#include "tests/support/values.h"

using namespace shiftgrad;
using char_lm::context_losses;
using test::near;

namespace {

/// Each position's loss is that of a window of `length` tokens that slides over the text.
void check(const LanguageModel& model, const std::vector<int32_t>& text, int64_t length,
           const std::vector<int64_t>& positions) {
  CAPTURE(length);
  std::vector<double> all;
  evaluate(model, text, {.mode = EvaluationMode::sliding, .tgt_len = length, .batch_size = 100},
           &all);
  std::vector<double> losses = context_losses(model, text, positions, length);
  REQUIRE(losses.size() == positions.size());
  for (size_t n = 0; n < positions.size(); ++n)
    CHECK(std::abs(losses[n] - all[positions[n] - 1]) < near);
}

}  // namespace

TEST_CASE("context losses: each token is predicted from exactly that many tokens") {
  std::vector<int32_t> text = random_text(40, 7);
  for (const LanguageModelConfig& config : {small_transformer_xl(), small_transformer(8)})
    for (int64_t length : {1, 3, 8}) {
      LanguageModel model = loud_model(config);
      check(model, text, length, {8, 39, 20, 9});
    }
  CHECK(context_losses(loud_model(small_transformer_xl()), text, {}, 3).empty());
}

TEST_CASE("context losses: more rows than one batch holds") {
  std::vector<int32_t> text = random_text(1300, 7);
  std::vector<int64_t> positions(1200);
  std::iota(positions.begin(), positions.end(), 100);
  check(loud_model(small_transformer_xl()), text, 10, positions);
}

TEST_CASE("context losses: progress counts the tokens that were fed") {
  std::vector<int32_t> text = random_text(1300, 7);
  std::vector<int64_t> positions(1200, 1299), counts;
  context_losses(loud_model(small_transformer_xl()), text, positions, 10,
                 [&](int64_t done) { counts.push_back(done); });
  CHECK(counts == std::vector<int64_t>{8190, 12000});
}

TEST_CASE("context losses: their mean has the standard error of independent losses") {
  // The deviation of 1, 2, 3, 6 is √(14 / 3), their error that over √4.
  std::vector<double> nats{1, 2, 3, 6};
  char_lm::MeanLoss loss = char_lm::mean_loss(nats);
  CHECK(std::abs(loss.bits - 3 / std::log(2.0)) < 1e-12);
  CHECK(std::abs(loss.error - std::sqrt(14.0 / 3) / 2 / std::log(2.0)) < 1e-12);
  CHECK(char_lm::mean_loss(std::vector<double>{2.0}).error == 0);
  CHECK(refusal([] { char_lm::mean_loss(std::vector<double>{1.0, std::nan("")}); }) ==
        "the loss: nan, expected a finite number");
}

TEST_CASE("context losses: record nothing, and refuse more than there are positions for") {
  LanguageModel model = loud_model(small_transformer(8));
  std::vector<int32_t> text = random_text(20, 7);
  Tape tape;
  context_losses(model, text, std::vector<int64_t>{10}, 8);
  CHECK(tape.size() == 0);
  CHECK(refusal([&] { context_losses(model, text, std::vector<int64_t>{10}, 9); }) ==
        "language_model: 9 positions are beyond max_len 8");
}
