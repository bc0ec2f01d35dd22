// Thousands of tokens: everything stays finite and near double. In double a shorter sequence will
// do: its exactness leaves less room.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/small_mixers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t length = sizeof(Scalar) == 4 ? 4096 : 1024, channels = 4;

bool all_finite(const Tensor& x) {
  for (Scalar value : x.values())
    if (!std::isfinite(value)) return false;
  return true;
}

/// Compares the outputs of three tokens in the middle and the last three with the formula. A layer
/// that also sees the future is left to the last ones.
template <class Config>
void check_long(const Config& config, double size = 1, bool causal = true) {
  RandomValues random(61);
  auto layer = random_layer(config, random);
  RandomValues tokens_of(62, -size, size);
  Tensor x = tokens_of.tensor({1, length, channels}).require_gradient();
  Context context;
  Tape tape;
  Tensor y = layer.forward(x, {}, context);
  tape.backward(y, random.tensor(y.shape()));
  CHECK(all_finite(y));
  CHECK(all_finite(x.gradient()));
  Weights weights(layer);
  for (int64_t end : {length / 2, length}) {
    if (!causal && end < length) continue;
    Input input;
    input.x = Values(tokens(x, end - 3, end));
    input.memory = Values(tokens(x, 0, end - 3));
    CHECK(relative_error(tokens(y, end - 3, end), oracle(config, weights, input)) <= exactness);
  }
}

}  // namespace

TEST_CASE("every mixer over thousands of tokens") {
  for_small_mixers(length, channels, 1, [](const auto& config) { check_long(config); });
}

TEST_CASE("attention over thousands of tokens") {
  check_long(Sized{MultiHeadAttentionConfig{.position = AttentionPosition::rope}, {channels, 1}});
  check_long(Sized{MultiHeadAttentionConfig{.position = AttentionPosition::alibi}, {channels, 1}});
  check_long(Sized{TransformerXLAttentionConfig{.sight = {.window = 100}}, {channels, 1}}, 3);
}

TEST_CASE("a long table over thousands of tokens") {
  check_long(Sized{RelativeGlobalAttentionConfig{.max_seq = length / 2}, {channels, 1}});
}

TEST_CASE("AFT over thousands of tokens") {
  for (double size : {1, 30}) {
    CAPTURE(size);
    check_long(Sized{AftConfig{.form = AftForm::simple}, {channels}}, size);
    check_long(Sized{AftConfig{.form = AftForm::simple, .causal = false}, {channels}}, size, false);
    check_long(Sized{AftConfig{.form = AftForm::conv, .window = 9}, {channels, 2}}, size);
    check_long(
        Sized{AftConfig{.form = AftForm::local, .max_len = length, .window = 9, .factor_rank = 2},
              {channels}},
        size);
  }
  check_long(
      Sized{AftConfig{.form = AftForm::full, .max_len = length, .factor_rank = 1}, {channels}});
}

TEST_CASE("LocalRNN over thousands of tokens") {
  check_long(Sized{LocalRnnConfig{.window = 5, .cell = RecurrentCell::lstm}, {channels}});
}
