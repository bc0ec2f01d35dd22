// A step that is refused changes nothing: the next one has the bits that it would have had without.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "nn/models/encoder_decoder_block.h"
#include "tests/support/layer_rows.h"
#include "tests/support/mismatch.h"
#include "tests/support/own_model.h"
#include "tests/support/refusal.h"
#include "tests/support/reversals.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t members = 2, fed_before = 3;

/// A step that a layer may refuse.
struct Attempt {
  std::string name;
  std::function<void(const Layer&, Cache&, int64_t C)> call;
};

/// A step of x [2, 2, C] in a context.
Attempt in(const std::string& name, const Context& context) {
  return {name, [context](const Layer& layer, Cache& cache, int64_t C) {
            Context own = context;
            layer(Tensor::full({members, 2, C}, 1), cache, own);
          }};
}

/// A step of an x that may not fit.
Attempt of(const std::string& name, const std::function<Tensor(int64_t C)>& x) {
  return {name, [x](const Layer& layer, Cache& cache, int64_t C) {
            Context context;
            layer(x(C), cache, context);
          }};
}

std::shared_ptr<const Mask> same_mask(const Dims& shape, size_t values) {
  return std::make_shared<Mask>(Mask{shape, std::vector<uint8_t>(values)});
}

std::vector<Attempt> attempts() {
  Context padding, hidden, cut_off, looking, editing;
  padding.key_padding_mask = same_mask({members, 100}, members * 100);
  hidden.attention_mask = same_mask({2, 100}, 200);
  cut_off.key_padding_mask = same_mask({members, fed_before + 2}, 1);
  looking.recorder = [](const Tensor&) { fail("the recorder"); };
  editing.term_editor = [](std::vector<ScoreTerm>&) { fail("the editor"); };
  return {
      of("undefined", [](int64_t) { return Tensor(); }),
      of("no batch",
         [](int64_t C) {
           return Tensor::zeros({1, C});
         }),
      of("other width",
         [](int64_t C) {
           return Tensor::zeros({members, 1, C + 1});
         }),
      of("other batch",
         [](int64_t C) {
           return Tensor::zeros({members + 1, 2, C});
         }),
      of("many tokens",
         [](int64_t C) {
           return Tensor::zeros({members, 50, C});
         }),
      in("padding mask of another shape", padding),
      in("attention mask of another shape", hidden),
      in("incomplete padding mask", cut_off),
      in("recorder that throws", looking),
      in("editor that throws", editing),
      {"on a tape",
       [](const Layer& layer, Cache& cache, int64_t C) {
         Tape tape;
         Context context;
         layer(Tensor::zeros({members, 1, C}), cache, context);
       }},
  };
}

bool refused(const std::function<void()>& action) {
  try {
    action();
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

TEST_CASE("a refused step leaves the cache of every layer as it was") {
  std::map<std::string, int> refusals;
  for (const LayerRow& row : layer_rows()) {
    if (!row.causal) continue;
    CAPTURE(row.name);
    RandomValues random(21);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor before = random.tensor({members, fed_before, row.d_model});
    Tensor first = random.tensor({members, 1, row.d_model}),
           second = random.tensor({members, 2, row.d_model});
    for (int64_t limit : {unlimited, int64_t{2}}) {
      Context context;
      auto begun = [&] {
        std::unique_ptr<Cache> cache = layer->make_cache(limit);
        (*layer)(before, *cache, context);
        return cache;
      };
      std::unique_ptr<Cache> untouched = begun();
      Tensor y = (*layer)(first, *untouched, context), z = (*layer)(second, *untouched, context);
      for (const Attempt& attempt : attempts()) {
        CAPTURE(attempt.name);
        std::unique_ptr<Cache> cache = begun();
        if (!refused([&] { attempt.call(*layer, *cache, row.d_model); })) continue;
        ++refusals[attempt.name];
        CHECK(same_bits((*layer)(first, *cache, context), y));
        CHECK(same_bits((*layer)(second, *cache, context), z));
      }
    }
  }
  for (const Attempt& attempt : attempts()) {
    CAPTURE(attempt.name);
    CHECK(refusals[attempt.name] > 0);
  }
}

TEST_CASE("a table of 6 distances refuses 50 tokens, and goes on as if nobody had asked") {
  Random random{.seed = 4};
  RelativeMultiHeadAttention layer({.max_positions = 6}, {4, 2}, random);
  auto next = [&](bool ask) {
    std::unique_ptr<Cache> cache = layer.make_cache();
    Context context;
    layer(Tensor::full({1, 2, 4}, 1), *cache, context);
    if (ask)
      CHECK(refusal([&] {
              layer(Tensor::full({1, 50, 4}, 1), *cache, context);
            }) ==
            "relative_multi_head_attention: 50 queries of 52 keys are beyond max_positions 6");
    return layer(Tensor::full({1, 1, 4}, 2), *cache, context);
  };
  CHECK(same_bits(next(true), next(false)));
}

TEST_CASE("a refused step leaves the cache of a model as it was") {
  LanguageModelConfig recurrent = small_transformer_xl();
  recurrent.block = BlockType::r_transformer_block;
  recurrent.window = 3;
  LanguageModelConfig summing = small_transformer_xl();
  summing.mixer = AftConfig{.form = AftForm::simple};
  std::vector<std::unique_ptr<SequenceModel>> models;
  for (const LanguageModelConfig& config :
       {small_transformer(8), small_transformer_xl(), recurrent, summing})
    models.push_back(std::make_unique<LanguageModel>(loud_model(config)));
  models.push_back(std::make_unique<OwnModel>(own_model()));
  for (const auto& model : models) {
    CAPTURE(model->name);
    Context plain;
    auto begun = [&] {
      std::unique_ptr<Cache> cache = model->make_cache();
      (*model)(Tokens{{1, 3}, {1, 2, 3}}, *cache, plain);
      return cache;
    };
    auto next = [&](Cache& cache) { return (*model)(Tokens{{1, 2}, {4, 5}}, cache, plain); };
    Tensor expected = next(*begun());
    // The recorder throws in the second block, when the first has gone on.
    int called = 0;
    Context looking;
    looking.recorder = [&](const Tensor&) { require(called++ % 2 == 0, "the second block"); };
    std::vector<std::pair<Tokens, Context>> steps{
        {Tokens{{1, 1}, {99}}, plain},
        {Tokens{{2, 1}, {1, 2}}, plain},
        {Tokens{{1, 20}, std::vector<int32_t>(20)}, plain},
        {Tokens{{1, 1}, {1}}, looking}};
    int refusals = 0;
    for (auto& [tokens, context] : steps) {
      std::unique_ptr<Cache> cache = begun();
      auto step = [&, &tokens = tokens, &context = context] { (*model)(tokens, *cache, context); };
      if (!refused(step)) continue;
      ++refusals;
      CHECK(same_bits(next(*cache), expected));
    }
    CHECK(refusals >= 2);
  }
}

TEST_CASE("a refused step leaves the cache of a decoder as it was") {
  EncoderDecoder model = small_translator();
  Context plain;
  Encoded source = model.encode(pad({{1, 2, 3}}), plain);
  auto begun = [&] {
    std::unique_ptr<Cache> cache = model.make_cache(source);
    model.decode(Tokens{{2, 2}, {1, 2, 2, 1}}, *cache, plain);
    return cache;
  };
  auto next = [&](Cache& cache) { return model.decode(Tokens{{2, 1}, {3, 4}}, cache, plain); };
  Tensor expected = next(*begun());
  Context looking;
  int called = 0;
  looking.recorder = [&](const Tensor&) { require(++called < 2, "the cross-attention"); };
  std::unique_ptr<Cache> cache = begun();
  CHECK(refused([&] { model.decode(Tokens{{3, 1}, {1, 2, 3}}, *cache, plain); }));
  CHECK(refused([&] { model.decode(Tokens{{2, 1}, {1, 99}}, *cache, plain); }));
  CHECK(refused([&] { model.decode(Tokens{{2, 1}, {1, 2}}, *cache, looking); }));
  CHECK(same_bits(next(*cache), expected));
}

TEST_CASE("a block that refuses a mask of its source leaves the cache as it was") {
  RandomValues random(3);
  Random start;
  EncoderDecoderBlock block({{.mixer = MultiHeadAttentionConfig{}, .d_inner = 5}}, {4, 2}, start);
  randomize(block, random);
  Tensor x = random.tensor({1, 2, 4});
  Source source{random.tensor({1, 3, 4})}, wrong = source;
  wrong.context.key_padding_mask = same_mask({1, 9}, 9);
  auto next = [&](Cache& cache) {
    Context context{.source = &source};
    return block(x, cache, context);
  };
  std::unique_ptr<Cache> untouched = block.make_cache(), asked = block.make_cache();
  Context masked{.source = &wrong};
  CHECK(refused([&] { block(x, *asked, masked); }));
  CHECK(same_bits(next(*asked), next(*untouched)));
}
