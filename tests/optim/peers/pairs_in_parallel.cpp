// Training on pairs by several peers, here threads: it is the training of one.

#include <doctest/doctest.h>

#include "optim/pair_trainer.h"
#include "tests/support/parallel_training.h"
#include "tests/support/refusal.h"
#include "tests/support/reversals.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Batches of 4, and at the end of an epoch one of 2, of which some peers have no row.
constexpr PairTrainerConfig config{.batch_size = 4, .max_iters = 50, .warmup_iters = 10};

Trained train_pairs(double dropout, int64_t peers, int64_t steps, const Trained* from = nullptr) {
  std::vector<TokenPair> pairs = reversals(30, 171), validation = reversals(9, 172);
  return by_peers(peers, [&](ProcessGroup& peer) {
    EncoderDecoder model = small_translator(dropout);
    PairTrainer trainer(model, pairs, validation, reversal_ends, config, peer);
    return trained(model, trainer, steps, from);
  });
}

}  // namespace

TEST_CASE("pairs in parallel: any number of peers makes the steps of one") {
  for (double dropout : {0.0, 0.2}) {
    CAPTURE(dropout);
    Trained one = train_pairs(dropout, 1, 50);
    for (int64_t peers : {2, 3, 4}) {
      CAPTURE(peers);
      check_near(train_pairs(dropout, peers, 50), one);
    }
  }
  // What the tolerance has to tell from rounding.
  CHECK(weights_apart(train_pairs(0.2, 1, 50), train_pairs(0.0, 1, 50)) > 10 * parallel_tolerance);
}

TEST_CASE("pairs in parallel: repeatable, and resumed by any number of peers") {
  Trained one = train_pairs(0.1, 1, 20);
  for (int64_t peers : {2, 4}) {
    CAPTURE(peers);
    Trained whole = train_pairs(0.1, peers, 20), half = train_pairs(0.1, peers, 9);
    CHECK(train_pairs(0.1, peers, 20).has_bits_of(whole));
    CHECK(train_pairs(0.1, peers, 11, &half).after(0).has_bits_of(whole.after(9)));
    for (int64_t others : {1, 3}) check_near(train_pairs(0.1, others, 11, &half), one.after(9));
  }
}

TEST_CASE("pairs in parallel: what cannot be") {
  std::vector<TokenPair> pairs = reversals(30, 171), others = reversals(30, 173);
  auto refused = [&](int64_t size, auto change) {
    return refusal([&] {
      ThreadsAsPeers::run(size, [&](ProcessGroup& peers) {
        PairTrainerConfig own = config;
        double dropout = 0;
        auto* data = &pairs;
        if (peers.rank() == 1) change(own, dropout, data);
        EncoderDecoder model = small_translator(dropout);
        PairTrainer(model, *data, {}, reversal_ends, own, peers).check_peers();
      });
    });
  };
  CHECK(refused(5, [](auto&...) {}) ==
        "trainer: batch_size 4 for 5 peers, expected a row for each");
  CHECK(refused(2, [&](auto&, auto&, auto& data) { data = &others; }) ==
        "trainer: rank 1 begins with another train_pairs than rank 0");
  CHECK(refused(2, [](auto& own, auto&...) { own.label_smoothing = 0; }) ==
        "trainer: rank 1 begins with another label_smoothing than rank 0");
  CHECK(refused(2, [](auto&, auto& dropout, auto&) { dropout = 0.1; }) ==
        "trainer: rank 1 begins with another dropout than rank 0");
}
