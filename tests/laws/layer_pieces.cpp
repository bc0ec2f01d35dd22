// A causal sequence fed in pieces gives what one pass gives.

#include "tests/support/layer_pieces.h"

#include <doctest/doctest.h>

#include "nn/models/r_transformer_block.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

const std::vector<std::vector<int64_t>> patterns = {{1}, {3, 5}, {4, 1, 2}, {7, 1}, {100}};

/// Calls check(row, layer, x, one pass over x) for every causal row.
template <class Check>
void for_each_causal(int64_t length, Check check) {
  for (const LayerRow& row : layer_rows()) {
    if (!row.causal) continue;
    CAPTURE(row.name);
    RandomValues random(5);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor x = random.tensor({3, length_of(row, length), row.d_model});
    check(row, *layer, x, whole(*layer, x));
  }
}

}  // namespace

TEST_CASE("pieces through a cache are the whole") {
  for_each_causal(17, [](const LayerRow&, const Layer& layer, const Tensor& x, const Tensor& y) {
    for (const auto& pattern : patterns) {
      CAPTURE(pattern[0]);
      std::unique_ptr<Cache> cache = layer.make_cache();
      Tensor pieces = feed(layer, *cache, x, cuts(pattern, x.size(1)));
      CHECK(relative_error(pieces, y) <= exactness);
    }
  });
}

TEST_CASE("chunk after chunk through a cache is the whole, to both sides") {
  int checked = 0;
  for (const LayerRow& row : layer_rows()) {
    if (row.causal || row.chunk == 1) continue;
    CAPTURE(row.name);
    RandomValues random(5);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor x = random.tensor({3, 7 * row.chunk + 1, row.d_model}), y = whole(*layer, x);
    for (const auto& pattern : {std::vector{row.chunk}, {2 * row.chunk, row.chunk}}) {
      std::unique_ptr<Cache> cache = layer->make_cache();
      Tensor pieces = feed(*layer, *cache, x, cuts(pattern, x.size(1)));
      CHECK(relative_error(pieces, y) <= exactness);
      Context context;
      CHECK(refusal([&] { (*layer)(tokens(x, 0, 2), *cache, context); }) ==
            text(row.type, ": 2 tokens behind ", x.size(1), ", expected whole chunks of ",
                 row.chunk, " before them"));
    }
    ++checked;
  }
  CHECK(checked > 3);
}

TEST_CASE("pieces behind a memory are the whole") {
  for_each_causal(17,
                  [](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor& y) {
                    if (!row.takes_memory) return;
                    for (const auto& pattern : patterns) {
                      CAPTURE(pattern[0]);
                      Tensor pieces = feed_with_memory(layer, x, cuts(pattern, x.size(1)));
                      CHECK(relative_error(pieces, y) <= exactness);
                    }
                  });
}

TEST_CASE("a memory of all that a query can see is enough") {
  for_each_causal(17,
                  [](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor& y) {
                    if (!row.takes_memory || row.sight == unlimited) return;
                    Tensor pieces = feed_with_memory(layer, x, cuts({2, 3}, x.size(1)), row.sight);
                    CHECK(relative_error(pieces, y) <= exactness);
                  });
}

TEST_CASE("a cache of limited length is a memory of that length") {
  for_each_causal(13, [](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor&) {
    if (!row.takes_memory || row.chunk > 1) return;
    for (int64_t limit : {0, 1, 2, 4, 30})
      for (const auto& pattern : {std::vector<int64_t>{2, 3, 1, 1}, {1}}) {
        CAPTURE(limit);
        std::vector<int64_t> lengths = cuts(pattern, x.size(1));
        std::unique_ptr<Cache> cache = layer.make_cache(limit);
        Tensor limited = feed_with_memory(layer, x, lengths, limit);
        CHECK(relative_error(feed(layer, *cache, x, lengths), limited) <= exactness);
      }
  });
}

TEST_CASE("a limit above what is fed is none") {
  for_each_causal(13, [](const LayerRow&, const Layer& layer, const Tensor& x, const Tensor& y) {
    std::unique_ptr<Cache> cache = layer.make_cache(x.size(1));
    CHECK(relative_error(feed(layer, *cache, x, cuts({2, 3, 1, 1}, x.size(1))), y) <= exactness);
  });
}

TEST_CASE("the limit of an r_transformer_block is that of its parts") {
  for (RecurrentCell cell : {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm})
    for (int64_t limit : {0, 1, 2, 4}) {
      CAPTURE(cell);
      CAPTURE(limit);
      RandomValues random(9);
      Random start;
      RTransformerBlock block({.window = 4, .cell = cell, .d_inner = 5}, {6, 2}, start);
      randomize(block, random);
      Tensor x = random.tensor({2, 9, 6});
      std::vector<int64_t> lengths = cuts({1, 3, 1}, 9);
      std::unique_ptr<Cache> cache = block.make_cache(limit);
      Tensor limited = feed(block, *cache, x, lengths);
      Context context;
      Tensor y = x;
      for (const Block::Part& part : block.parts)
        y = y + feed_with_memory(*part.function, part.norm(y), lengths, limit);
      CHECK(relative_error(limited, y) <= exactness);
    }
}

TEST_CASE("a cache with a limit is cloned and reordered as others are") {
  const std::vector<int64_t> members{2, 0, 0, 1};
  for_each_causal(9, [&](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor&) {
    if (!row.takes_memory || row.chunk > 1) return;
    for (int64_t limit : {1, 3}) {
      CAPTURE(limit);
      int64_t T = x.size(1), half = T / 2;
      std::vector<Tensor> rows;
      for (int64_t member : members) rows.push_back(slice(x, 0, member, member + 1));
      Tensor picked = concat(rows, 0);
      std::unique_ptr<Cache> cache = layer.make_cache(limit);
      feed(layer, *cache, tokens(x, 0, half), cuts({1}, half));
      std::unique_ptr<Cache> clone = cache->clone();
      RandomValues random(6);
      feed(layer, *cache, random.tensor({3, T - half, x.size(2)}), cuts({2}, T - half));
      clone->reorder(members);
      Tensor rest = feed(layer, *clone, tokens(picked, half, T), cuts({1}, T - half));
      Tensor expected = feed_with_memory(layer, picked, cuts({1}, T), limit);
      CHECK(relative_error(rest, tokens(expected, half, T)) <= exactness);
    }
  });
}

TEST_CASE("a clone of a cache goes its own way") {
  for_each_causal(9, [](const LayerRow&, const Layer& layer, const Tensor& x, const Tensor& y) {
    int64_t T = x.size(1), half = T / 2;
    std::unique_ptr<Cache> cache = layer.make_cache();
    feed(layer, *cache, tokens(x, 0, half), {half});
    std::unique_ptr<Cache> clone = cache->clone();
    RandomValues random(6);
    feed(layer, *clone, random.tensor({3, T - half, x.size(2)}), cuts({2}, T - half));
    std::unique_ptr<Cache> second = cache->clone();
    Tensor rest = tokens(x, half, T), expected = tokens(y, half, T);
    CHECK(relative_error(feed(layer, *cache, rest, cuts({1}, T - half)), expected) <= exactness);
    CHECK(relative_error(feed(layer, *second, rest, {T - half}), expected) <= exactness);
  });
}

TEST_CASE("a reordered cache continues with other batch members") {
  const std::vector<int64_t> members{2, 0, 0, 1};
  for_each_causal(9, [&](const LayerRow&, const Layer& layer, const Tensor& x, const Tensor& y) {
    int64_t T = x.size(1), half = T / 2;
    auto picked = [&](const Tensor& all) {
      std::vector<Tensor> rows;
      for (int64_t member : members) rows.push_back(slice(all, 0, member, member + 1));
      return concat(rows, 0);
    };
    std::unique_ptr<Cache> cache = layer.make_cache();
    feed(layer, *cache, tokens(x, 0, half), cuts({3}, half));
    cache->reorder(members);
    Tensor rest = feed(layer, *cache, picked(tokens(x, half, T)), cuts({2, 1}, T - half));
    CHECK(relative_error(rest, picked(tokens(y, half, T))) <= exactness);
  });
}

TEST_CASE("a cache forgets its newest tokens as if they had not been fed") {
  for_each_causal(9, [](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor& y) {
    if (!row.forgets) return;
    std::unique_ptr<Cache> cache = layer.make_cache();
    int64_t T = x.size(1), fed = std::min<int64_t>(4, row.held),
            extra = std::min(T, row.held) - fed;
    RandomValues random(7);
    if (fed > 0) feed(layer, *cache, tokens(x, 0, fed), {fed});
    if (extra > 0) feed(layer, *cache, random.tensor({3, extra, x.size(2)}), cuts({1, 3}, extra));
    cache->forget_newest(extra);
    Tensor rest = feed(layer, *cache, tokens(x, fed, T), cuts({2}, T - fed));
    CHECK(relative_error(rest, tokens(y, fed, T)) <= exactness);
  });
}

TEST_CASE("what older tokens have made room for cannot be forgotten") {
  for_each_causal(9, [](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor&) {
    if (row.forgets && row.held >= x.size(1)) return;
    std::unique_ptr<Cache> cache = layer.make_cache();
    feed(layer, *cache, x, cuts({2}, x.size(1)));
    cache->forget_newest(0);
    CHECK(refusal([&] { cache->forget_newest(1); }).starts_with("cache: "));
  });
}

TEST_CASE("a cache belongs to the batch that it has seen") {
  for_each_causal(5, [](const LayerRow& row, const Layer& layer, const Tensor& x, const Tensor&) {
    if (row.sight == 0) return;
    std::unique_ptr<Cache> cache = layer.make_cache();
    feed(layer, *cache, x, {x.size(1)});
    RandomValues random(8);
    refusal([&] { feed(layer, *cache, random.tensor({2, 1, x.size(2)}), {1}); });
  });
}

TEST_CASE("a layer that sees the future has no cache, unless it sees it in chunks") {
  for (const LayerRow& row : layer_rows()) {
    if (row.causal || row.chunk > 1) continue;
    CAPTURE(row.name);
    CHECK(refusal([&] { row.make()->make_cache(); }).ends_with("cannot be fed in pieces"));
  }
}
