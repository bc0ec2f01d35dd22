// Caches that a window, a table or a limit bounds: they stop growing, and once full a token costs
// the same whatever came before. Counted in bytes of the allocator, not in time: every buffer that
// a step touches is allocated in it or belongs to the cache.

#include <doctest/doctest.h>

#include "core/machine/allocator.h"
#include "nn/models/config.h"
#include "nn/models/language_model.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/small_mixers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t steps = 10'000;

/// What a step of one token took at most, in a stretch of steps.
struct Cost {
  int64_t held = 0;   // bytes in use between steps
  int64_t extra = 0;  // bytes in use during a step beyond that
  int64_t calls = 0;  // allocations
};

Cost measure(int64_t count, const std::function<void(int64_t)>& step) {
  Cost cost;
  for (int64_t n = 0; n < count; ++n) {
    AllocatorCounters before = allocator_counters();
    reset_peak();
    step(n);
    AllocatorCounters after = allocator_counters();
    cost.held = std::max(cost.held, after.bytes_in_use);
    cost.extra = std::max(cost.extra, after.peak_bytes_in_use - before.bytes_in_use);
    cost.calls = std::max(cost.calls, after.calls - before.calls);
  }
  return cost;
}

/// Feeds a layer token by token, and checks that the last of the steps cost what those after the
/// first few hundred did. Gives the last `kept` tokens and the last output.
template <class Config>
void check_constant_cost(const Config& config, int64_t limit, int64_t seen) {
  RandomValues random(14);
  auto layer = random_layer(config, random);
  constexpr int64_t C = 4, early = 500;
  Tensor x = random.tensor({1, steps, C}), y;
  std::unique_ptr<Cache> cache = layer.make_cache(limit);
  Context context;
  auto step = [&](int64_t n) { y = layer(slice(x, 1, n, n + 1), *cache, context); };
  for (int64_t n = 0; n < early; ++n) step(n);
  Cost first = measure(early, [&](int64_t n) { step(early + n); });
  Cost rest = measure(steps - 2 * early, [&](int64_t n) { step(2 * early + n); });
  CHECK(rest.held == first.held);
  CHECK(rest.extra == first.extra);
  CHECK(rest.calls == first.calls);

  // And it is still exact.
  if (seen == unlimited) return;
  Input input;
  input.x = Values(tokens(x, steps - 1, steps));
  input.memory = Values(tokens(x, steps - 1 - seen, steps - 1));
  CHECK(relative_error(y, oracle(config, Weights(layer), input)) <= exactness);
}

}  // namespace

TEST_CASE("first keys beside a window: memory is bounded, and all tokens are those of the whole") {
  constexpr int64_t length = 300;
  for (AttentionPosition position : {AttentionPosition::none, AttentionPosition::rope}) {
    CAPTURE(position);
    RandomValues random(15);
    auto layer = random_layer(
        Sized{MultiHeadAttentionConfig{.sight = {.window = 7, .always = 3}, .position = position},
              {4, 2}},
        random);
    Tensor x = random.tensor({2, length, 4});
    Context context;
    Tensor whole = layer(x, {}, context);
    std::unique_ptr<Cache> cache = layer.make_cache();
    int64_t held = 0;
    for (int64_t n = 0; n < length; ++n) {
      Tensor y = layer(slice(x, 1, n, n + 1), *cache, context);
      CHECK(relative_error(y, Values(slice(whole, 1, n, n + 1))) <= exactness);
      if (n == 100) held = allocator_counters().bytes_in_use;
    }
    CHECK(allocator_counters().bytes_in_use <= held);
  }
}

TEST_CASE("masks cover the first keys and the newest that a cache keeps") {
  RandomValues random(16);
  auto layer = random_layer(
      Sized{MultiHeadAttentionConfig{.sight = {.window = 3, .always = 2}}, {4, 2}}, random);
  Tensor x = random.tensor({1, 20, 4});
  std::unique_ptr<Cache> cache = layer.make_cache();
  Context context;
  layer(slice(x, 1, 0, 19), *cache, context);
  // Keys 0, 1, 17, 18 and 19, of which the second and the fourth are hidden.
  context.key_padding_mask = std::make_shared<const Mask>(Mask{{1, 5}, {0, 1, 0, 1, 0}});
  Tensor y = layer(slice(x, 1, 19, 20), *cache, context);
  Mask whole{{1, 20}, std::vector<uint8_t>(20)};
  whole.values[1] = whole.values[18] = 1;
  context.key_padding_mask = std::make_shared<const Mask>(whole);
  Tensor expected = layer(x, {}, context);
  CHECK(relative_error(y, Values(slice(expected, 1, 19, 20))) <= exactness);
}

TEST_CASE("attention in a window costs the same for every token") {
  for (AttentionPosition position :
       {AttentionPosition::none, AttentionPosition::rope, AttentionPosition::alibi}) {
    CAPTURE(position);
    check_constant_cost(
        Sized{MultiHeadAttentionConfig{.sight = {.window = 30}, .position = position}, {4, 2}},
        unlimited, 29);
  }
  check_constant_cost(Sized{TransformerXLAttentionConfig{.sight = {.window = 30}}, {4, 2}},
                      unlimited, 29);
  check_constant_cost(Sized{RelativeGlobalAttentionConfig{.max_seq = 30}, {4, 2}}, unlimited, 29);
}

TEST_CASE("a limited memory costs the same for every token") {
  for_small_mixers(40, 4, 2, [](const auto& config) { check_constant_cost(config, 25, 25); });
  check_constant_cost(Sized{TransformerXLAttentionConfig{.clamp_len = 7}, {4, 2}}, 25, 25);
  check_constant_cost(Sized{TransformerXLAttentionConfig{.positions = DistancePositions::learned,
                                                         .max_positions = 40},
                            {4, 2}},
                      25, 25);
  check_constant_cost(Sized{AftConfig{.form = AftForm::full, .max_len = 40}, {4}}, 25, 25);
  check_constant_cost(Sized{AftConfig{.form = AftForm::local, .max_len = 40, .window = 9}, {4}}, 25,
                      25);
  check_constant_cost(Sized{AftConfig{.form = AftForm::simple}, {4}}, 25, 25);
  check_constant_cost(Sized{AftConfig{.form = AftForm::conv, .window = 9}, {4, 2}}, 25, 25);
  check_constant_cost(Sized{LocalRnnConfig{.window = 6, .cell = RecurrentCell::gru}, {4}}, 3, 3);
}

TEST_CASE("a table of positions bounds a cache by itself") {
  check_constant_cost(Sized{RelativeMultiHeadAttentionConfig{.max_positions = 40}, {4, 2}},
                      unlimited, 40);
}

TEST_CASE("running sums cost the same for every token") {
  check_constant_cost(Sized{AftConfig{.form = AftForm::simple}, {4}}, unlimited, unlimited);
  check_constant_cost(Sized{AftConfig{.form = AftForm::conv, .window = 9}, {4, 2}}, unlimited,
                      unlimited);
  check_constant_cost(
      Sized{AftConfig{.form = AftForm::local, .max_len = steps, .window = 9, .factor_rank = 2},
            {4}},
      unlimited, unlimited);
}

TEST_CASE("open windows of a recurrent net cost the same for every token") {
  for (RecurrentCell cell : {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm})
    check_constant_cost(Sized{LocalRnnConfig{.window = 6, .cell = cell}, {4}}, unlimited, 5);
}

TEST_CASE("other attention grows, and so does what a token costs") {
  Random start;
  TransformerXLAttention layer({}, {4, 2}, start);
  std::unique_ptr<Cache> cache = layer.make_cache();
  Context context;
  auto step = [&](int64_t) { layer(Tensor::zeros({1, 1, 4}), *cache, context); };
  Cost early = measure(300, step), late = measure(1000, step);
  CHECK(late.held > early.held);
  CHECK(late.extra > early.extra);
}
