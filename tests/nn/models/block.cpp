// A block is a list of parts, whichever they are.

#include "nn/models/block.h"

#include "nn/feed_forward.h"
#include "nn/local_rnn.h"
#include "nn/multi_head_attention.h"
#include "ops/arithmetic.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t parts_width = 4;

/// Two mixers that remember around one that does not.
Block block_of_parts(bool norm_first, RandomValues& values) {
  Random random;
  Block block;
  block.name = "block_of_parts";
  block.norm_first = norm_first;
  auto add = [&](const char* name, std::unique_ptr<Layer> function, const char* norm) {
    block.parts.push_back({name, std::move(function), norm, LayerNorm(parts_width)});
  };
  add("local", std::make_unique<LocalRnn>(LocalRnnConfig{3}, Width{parts_width}, random), "first");
  add("net", std::make_unique<FeedForward>(parts_width, 5, Activation::gelu, 0, random), "second");
  Width width{parts_width, 2};
  add("attention", std::make_unique<MultiHeadAttention>(MultiHeadAttentionConfig{}, width, random),
      "third");
  randomize(block, values);
  return block;
}

}  // namespace

TEST_CASE("a block adds the outputs of its parts, with the norm first or last") {
  for (bool norm_first : {true, false}) {
    RandomValues random(41);
    Block block = block_of_parts(norm_first, random);
    Tensor x = random.tensor({2, 5, parts_width}), expected = x;
    for (const Block::Part& part : block.parts)
      expected = norm_first ? expected + (*part.function)(part.norm(expected))
                            : part.norm(expected + (*part.function)(expected));
    CHECK(relative_error(block(x), expected) <= exactness);
    std::unique_ptr<Cache> cache = block.make_cache();
    CHECK(relative_error(feed(block, *cache, x, {2, 1, 2}), expected) <= exactness);
  }
}

TEST_CASE("a block lists its parts in order, and what they have for their model") {
  RandomValues random(42);
  Block block = block_of_parts(true, random);
  std::vector<std::string> names;
  for (const NamedLayer& layer : layers(block)) names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"local", "net", "attention"});
  CHECK(parameters(block).front().name == "local.weight_ih");
  CHECK(parameters(block).back().name == "third.bias");
  std::vector<size_t> projections;
  for (const Block::Part& part : block.parts)
    projections.push_back(part.function->residual_projections().size());
  CHECK(projections == std::vector<size_t>{0, 1, 1});
  CHECK(block.limits().length == unlimited);
}
