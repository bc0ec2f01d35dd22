// What every layer refuses in its own name: other shapes, caches that are not its own, recording
// through a cache.

#include "nn/layer.h"

#include <doctest/doctest.h>

#include "core/tape.h"
#include "nn/models/language_model.h"
#include "ops/concat.h"
#include "ops/reduce.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

const std::string foreign =
    ": the cache of another module; expected one that make_cache of this module gave";

/// A causal layer, its row and tokens for it.
struct CheckedLayer {
  LayerRow row;
  std::unique_ptr<Layer> layer;
  Tensor x;

  std::string refused(Cache& cache) const {
    Context context;
    return refusal([&] { (*layer)(x, cache, context); });
  }
  Tensor forward(Cache& cache) const {
    Context context;
    return (*layer)(x, cache, context);
  }
};

std::vector<CheckedLayer> causal_layers() {
  std::vector<CheckedLayer> checked_layers;
  RandomValues random(21);
  for (const LayerRow& row : layer_rows())
    if (row.causal)
      checked_layers.push_back(
          {row, random_layer(row, random), random.tensor({2, 3, row.d_model})});
  return checked_layers;
}

}  // namespace

TEST_CASE("x of another shape is refused in the layer's name") {
  for (const LayerRow& row : layer_rows()) {
    CAPTURE(row.name);
    std::unique_ptr<Layer> layer = row.make();
    int64_t C = row.d_model;
    Context context;
    std::string expected = text(", expected [B, T, ", C, "]");
    for (const Dims& shape : {Dims{5, C}, {C}, {2, 5, C + 1}, {2, 5, C, 1}, {2, C, 5}}) {
      if (shape[-1] == C && shape.size() == 3) continue;
      Tensor x = Tensor::zeros(shape);
      std::string message = text(row.type, ": x ", shape, expected);
      CHECK(refusal([&] { (*layer)(x, {}, context); }) == message);
      if (!row.causal) continue;
      std::unique_ptr<Cache> cache = layer->make_cache();
      CHECK(refusal([&] { (*layer)(x, *cache, context); }) == message);
      cache = layer->make_cache(2);
      CHECK(refusal([&] { (*layer)(x, *cache, context); }) == message);
    }
    CHECK(refusal([&] { (*layer)(Tensor(), Tensor(), context); }) ==
          row.type + ": x is undefined" + expected);
  }
}

TEST_CASE("memory of another shape is refused in the layer's name") {
  for (const LayerRow& row : layer_rows()) {
    if (!row.takes_memory) continue;
    CAPTURE(row.name);
    std::unique_ptr<Layer> layer = row.make();
    int64_t C = row.d_model;
    Tensor x = Tensor::zeros({2, 3, C});
    Context context;
    for (const Dims& shape : {Dims{2, 3, C - 1}, {1, 3, C}, {3, C}, {2, 2, 3, C}, {2, 0, C + 1}})
      CHECK(refusal([&] { (*layer)(x, Tensor::zeros(shape), context); }) ==
            text(row.type, ": memory ", shape, " for x ", x.shape(), ", expected [2, M, ", C, "]"));
  }
}

TEST_CASE("a cache of another layer is refused, and left as it was") {
  std::vector<CheckedLayer> checked_layers = causal_layers();
  for (const CheckedLayer& owner : checked_layers) {
    CAPTURE(owner.row.name);
    std::unique_ptr<Cache> cache = owner.layer->make_cache(), empty = owner.layer->make_cache();
    std::unique_ptr<Cache> limited = owner.layer->make_cache(1);
    owner.forward(*cache);
    for (const CheckedLayer& other : checked_layers) {
      if (&other == &owner) continue;
      CAPTURE(other.row.name);
      for (Cache* one : {cache.get(), empty.get(), limited.get()})
        CHECK(other.refused(*one).ends_with(foreign));
      CHECK(other.refused(*cache->clone()).ends_with(foreign));
    }
    CheckedLayer twin{owner.row, owner.row.make(), owner.x};
    CHECK(twin.refused(*cache).ends_with(foreign));
    Tensor twice = whole(*owner.layer, concat({owner.x, owner.x}, 1));
    CHECK(relative_error(owner.forward(*cache->clone()), tokens(twice, 3, 6)) <= exactness);
    CHECK(relative_error(owner.forward(*cache), tokens(twice, 3, 6)) <= exactness);
  }
}

TEST_CASE("the refusal of a cache names the layer that remembers") {
  for (const CheckedLayer& checked : causal_layers()) {
    CAPTURE(checked.row.name);
    std::unique_ptr<Cache> cache = checked.row.make()->make_cache();
    bool is_block = checked.row.name.starts_with("block");
    std::string message = checked.refused(*cache);
    CHECK((is_block || message == checked.row.type + foreign));
    CHECK(message != "layer" + foreign);
  }
}

TEST_CASE("a copy of a layer shares its parameters, and its caches") {
  Random random;
  Aft layer({.form = AftForm::simple}, {4}, random);
  std::unique_ptr<Cache> cache = layer.make_cache();
  Aft copy = layer;
  Context context;
  CHECK(copy(Tensor::zeros({1, 2, 4}), *cache, context).defined());
}

TEST_CASE("a layer is called with a context alone, and with any past") {
  for (const CheckedLayer& checked : causal_layers()) {
    CAPTURE(checked.row.name);
    const Layer& layer = *checked.layer;
    Context context;
    Tensor y = layer(checked.x);
    CHECK(same_bits(layer(checked.x, context), y));
    CHECK(same_bits(layer(checked.x, {}, context), y));
    CHECK(same_bits(layer(checked.x, Tensor(), context), y));
    CHECK(relative_error(layer(checked.x, *layer.make_cache(), context), y) <= exactness);
  }
}

namespace {

/// The sum of all tokens, which changes its cache before it looks at the context.
struct Sum : Layer {
  struct Total : CacheOf<Total> {
    Tensor tokens;  // [B, 1, C]
    void forget_newest(int64_t) override { fail("sum: forgets no token"); }
    void reorder(const std::vector<int64_t>& members) override {
      tokens = members_of(tokens, members);
    }
  };
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override {
    auto& total = *past.cache<Total>();
    Tensor y = sum(concat({total.tokens, x}, 1), {1}, true);
    total.tokens = y;
    context.refuse_masks("sum");
    return y;
  }
  std::unique_ptr<Cache> make_cache(int64_t = unlimited) const override {
    return new_cache<Total>();
  }
  void visit(Visitor&) const override {}
};

}  // namespace

TEST_CASE("a layer of one's own that throws late leaves the cache as it was") {
  Sum layer;
  std::unique_ptr<Cache> cache = layer.make_cache();
  Context context, masked;
  masked.attention_mask = std::make_shared<Mask>(Mask{{1, 1}, {0}});
  Tensor one = Tensor::full({1, 1, 1}, 1);
  CHECK(layer(one, *cache, context).item() == 1);
  CHECK(refusal([&] { layer(one, *cache, masked); }) == "sum: takes no attention_mask");
  CHECK(layer(one, *cache, context).item() == 2);
  std::unique_ptr<Cache> clone = cache->clone();
  CHECK(layer(one, *cache, context).item() == 3);
  CHECK(layer(one, *clone, context).item() == 3);
}

TEST_CASE("a cache of another model is refused") {
  LanguageModelConfig config{
      .vocab_size = 3, .d_model = 4, .n_layer = 2, .n_head = 2, .d_inner = 4};
  Random random;
  LanguageModel two(config, random);
  config.n_layer = 1;
  LanguageModel one(config, random);
  std::unique_ptr<Cache> cache = one.make_cache(), of_block = two.blocks.layers[0]->make_cache();
  Context context;
  Tokens tokens{{1, 1}, {0}};
  std::string message =
      "language_model: the cache of another module; expected one that make_cache of this module "
      "gave";
  CHECK(refusal([&] { two(tokens, *cache, context); }) == message);
  CHECK(refusal([&] { two(tokens, *of_block, context); }) == message);
  CHECK(two(tokens, *two.make_cache(), context).defined());
}

TEST_CASE("recording through a cache is refused in the layer's name") {
  for (const CheckedLayer& checked : causal_layers()) {
    CAPTURE(checked.row.name);
    std::unique_ptr<Cache> cache = checked.layer->make_cache();
    Tensor expected = whole(*checked.layer, checked.x);
    Tape tape;
    for (int times = 0; times < 2; ++times)
      CHECK(checked.refused(*cache) ==
            checked.row.type +
                ": a cache is for fixed weights, and a tape records; expected a Tape::Pause");
    {
      Tape::Pause evaluation;
      CHECK(relative_error(checked.forward(*cache->clone()), expected) <= exactness);
    }
    for (const Parameter& parameter : parameters(*checked.layer))
      parameter.value.require_gradient(false);
    CHECK(relative_error(checked.forward(*cache), expected) <= exactness);
    CHECK(tape.size() == 0);
  }
}

TEST_CASE("a negative limit is refused") {
  for (const CheckedLayer& checked : causal_layers())
    CHECK(refusal([&] {
            checked.layer->make_cache(-1);
          }).ends_with(": limit -1, expected at least 0"));
}
