// Mixers as someone outside would write them, with parts of attention or of a layer of their own:
// they are what their formulas say, remember as all layers do, and write.

#include <doctest/doctest.h>

#include <cmath>

#include "core/tape.h"
#include "examples/variants/variants.h"
#include "nn/models/generate.h"
#include "nn/models/language_model.h"
#include "nn/positions.h"
#include "ops/gradient_check.h"
#include "optim/trainer.h"
#include "tests/shell/outside/convolution_mixer.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t own_width = 8, own_heads = 4;

template <class Own, class... Sizes>
Own random_mixer(uint64_t seed, Sizes... sizes) {
  Random start;
  Own layer(own_width, sizes..., start);
  RandomValues random(seed);
  randomize(layer, random);
  return layer;
}

/// A mixer whose hidden state cannot forget: h_t = tanh(W x_t + U h_{t-1}).
struct HiddenState : CacheOf<HiddenState> {
  Tensor h;  // [B, 1, C], undefined at the start

  void forget_newest(int64_t count) override { require(count == 0, "recurrent: cannot forget"); }
  void reorder(const std::vector<int64_t>& members) override { h = members_of(h, members); }
};

struct Recurrent : Layer {
  Linear input, hidden;
  bool takes_limits;

  Recurrent(int64_t d_model, bool takes_limits, Random& random)
      : input(d_model, d_model, true, random),
        hidden(d_model, d_model, false, random),
        takes_limits(takes_limits) {
    name = "recurrent";
  }
  Tensor forward(const Tensor& x, const Past& past, Context&) const override {
    check_input(name, x, past.memory(), input.weight.size(1));
    auto* state = past.cache<HiddenState>();
    Tensor all = concat({past.memory(), x}, 1);  // [B, M + T, C]
    Tensor h = state ? state->h : Tensor();
    std::vector<Tensor> outputs;
    for (int64_t t = 0; t < all.size(1); ++t) {
      Tensor sum = input(slice(all, 1, t, t + 1));
      h = tanh(h.defined() ? sum + hidden(h) : sum);
      outputs.push_back(h);
    }
    if (state) state->h = h.detach();
    return slice(concat(outputs, 1), 1, all.size(1) - x.size(1), all.size(1));
  }
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override {
    if (limit == unlimited) return new_cache<HiddenState>();
    require(takes_limits, name, ": takes no limit");
    return Layer::make_cache(limit);
  }
  void visit(Visitor& visitor) const override {
    visitor("input", input);
    visitor("hidden", hidden);
  }
};

LanguageModel model_of(const MixerMaker& mixer) {
  Random random{.seed = 3};
  LanguageModelConfig config{
      .vocab_size = 7, .d_model = own_width, .n_layer = 2, .n_head = own_heads, .d_inner = 12};
  LanguageModel model(config, random, mixer);
  RandomValues values(44);
  randomize(model, values);
  return model;
}

template <class Own>
MixerMaker maker(auto... sizes) {
  return [=](Random& random) { return std::make_unique<Own>(own_width, sizes..., random); };
}

/// A model with a mask of its own: no token sees the one before it.
struct Skipping : SequenceModel {
  LanguageModel inner =
      model_of([](Random& random) { return variants::grouped(own_width, own_heads, 2, random); });

  ModelTraits traits() const override { return {.vocab_size = 7, .d_model = own_width}; }
  ModelOutput forward(const Tokens& tokens, const Memory&, Context& context) const override {
    int64_t T = tokens.shape[1];
    Mask mask{{T, T}, std::vector<uint8_t>(T * T)};
    for (int64_t t = 1; t < T; ++t) mask.values[t * T + t - 1] = 1;
    Context own = context;
    own.attention_mask = std::make_shared<Mask>(mask);
    return {.logits = inner.forward(tokens, {}, own).logits};
  }
  void visit(Visitor& visitor) const override { visitor("inner", inner); }
};

/// The text made longer by the likeliest token, each computed from nothing.
std::vector<int32_t> fed_again(const LanguageModel& model, std::vector<int32_t> text,
                               int64_t length) {
  for (int64_t n = 0; n < length; ++n) {
    Context context;
    Tokens tokens{{1, std::ssize(text)}, text};
    Tensor last = model(tokens, Memory(), context).logits[0][std::ssize(text) - 1];
    std::vector<Scalar> logits = last.values();
    text.push_back(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
  }
  return text;
}

}  // namespace

TEST_CASE("FoX with gates that no token changes is ALiBi") {
  Random start, same;
  std::unique_ptr<Layer> layer = variants::fox(own_width, own_heads, start);
  RandomValues random(41);
  randomize(*layer, random);
  MultiHeadAttention alibi({.position = AttentionPosition::alibi}, {own_width, own_heads}, same);
  auto& fox = dynamic_cast<Attention&>(*layer);
  alibi.qkv = fox.qkv;
  alibi.output = fox.output;
  std::vector<double> slopes = alibi_slopes(own_heads);
  for (const Parameter& parameter : parameters(*layer)) {
    if (parameter.name == "gate.weight")
      std::fill_n(parameter.value.mutable_data(), parameter.value.count(), Scalar{0});
    for (int64_t h = 0; h < own_heads && parameter.name == "gate.bias"; ++h)  // log σ(b) = -slope
      parameter.value.mutable_data()[h] = static_cast<Scalar>(-std::log(std::expm1(slopes[h])));
  }
  Tensor x = RandomValues(43).tensor({2, 9, own_width});
  CHECK(relative_error(whole(*layer, x), whole(alibi, x)) <= exactness);
}

TEST_CASE("mixers of one's own write through their caches what they write without") {
  std::vector<std::pair<std::string, MixerMaker>> mixers{
      {"convolution", maker<outside::ConvolutionMixer>(3)}, {"recurrent", maker<Recurrent>(true)}};
  for (const variants::Variant& variant : variants::all())
    mixers.emplace_back(variant.name, [&variant](Random& random) {
      return variant.make(own_width, own_heads, random);
    });
  for (const auto& [name, mixer] : mixers) {
    CAPTURE(name);
    LanguageModel model = model_of(mixer);
    std::vector<int32_t> prompt{1, 2, 3}, text = prompt;
    for (int64_t memory : {int64_t{64}, unlimited}) {
      GenerateOptions options{.length = 20, .sampling = {.temperature = 0}, .mem_len = memory};
      std::vector<int32_t> made = generate(model, prompt, options);
      text = prompt;
      text.insert(text.end(), made.begin(), made.end());
      CHECK(text == fed_again(model, prompt, 20));
    }
  }
}

TEST_CASE("a layer without a cache of its own remembers its inputs") {
  Recurrent layer = random_mixer<Recurrent>(47, true);
  Tensor x = RandomValues(48).tensor({2, 9, own_width});
  const std::vector<int64_t> pieces{1, 2, 1, 5};
  CHECK(relative_error(feed(layer, *layer.make_cache(), x, pieces), whole(layer, x)) <= exactness);
  for (int64_t limit : {0, 1, 4, 100})
    CHECK(same_bits(feed(layer, *layer.make_cache(limit), x, pieces),
                    feed_with_memory(layer, x, pieces, limit)));
  std::unique_ptr<Cache> cache = layer.make_cache(100);
  feed(layer, *cache, x, {5});
  cache->forget_newest(2);
  CHECK(relative_error(feed(layer, *cache, tokens(x, 3, 9), {6}), tokens(whole(layer, x), 3, 9)) <=
        exactness);
  CHECK(refusal([&] { layer.make_cache(-1); }) == "recurrent: limit -1, expected at least 0");

  // A convolution of 3 taps keeps 2 tokens, and cannot go back behind them.
  outside::ConvolutionMixer taps = random_mixer<outside::ConvolutionMixer>(49, int64_t{3});
  cache = taps.make_cache();
  feed(taps, *cache, x, {5});
  CHECK(refusal([&] { cache->forget_newest(1); }) ==
        "cache: cannot forget tokens when older ones have left the window");
}

TEST_CASE("a model whose cache takes no limit is refused before it trains on streams") {
  std::vector<int32_t> text = random_text(200, 7);
  LanguageModel model = model_of(maker<Recurrent>(false));
  TrainerConfig config{
      .batch_size = 2, .block_size = 8, .batches = BatchType::streams, .max_iters = 1};
  CHECK(refusal([&] { Trainer(model, text, {}, config); }) == "recurrent: takes no limit");
  config.batches = BatchType::blocks;
  Trainer(model, text, {}, config).run();
  LanguageModel remembers = model_of(maker<Recurrent>(true));
  config.batches = BatchType::streams;
  Trainer(remembers, text, {}, config).run();
}

TEST_CASE("a model with masks of its own is evaluated with them, however it is fed") {
  Skipping model;
  std::vector<int32_t> text = random_text(30, 7);
  auto nats = [&](const SequenceModel& one, EvaluationMode mode, int64_t tgt_len) {
    return evaluate(one, text, {.mode = mode, .tgt_len = tgt_len, .mem_len = 50}).nats;
  };
  double whole = nats(model, EvaluationMode::chunks, 29);
  CHECK(nats(model, EvaluationMode::memory, 4) == doctest::Approx(whole));
  CHECK(nats(model.inner, EvaluationMode::chunks, 29) != doctest::Approx(whole));
}
