// Language models in segments: what is remembered is as good as the whole, within what it reaches.

#include <doctest/doctest.h>

#include "core/tape.h"
#include "ops/concat.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "tests/support/layer_gradients.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/mismatch.h"
#include "tests/support/models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

Tensor one_pass(const LanguageModel& model, const Tokens& tokens) {
  Context context;
  return model(tokens, {}, context).logits;
}

/// The logits of all segments, each behind the memory that `remember` made of those before.
Tensor in_segments(const LanguageModel& model, const Tokens& tokens,
                   const std::vector<int64_t>& lengths, int64_t mem_len) {
  std::vector<Tensor> logits;
  Memory memory;
  Context context;
  int64_t t = 0;
  for (int64_t length : lengths) {
    ModelOutput output = model(part(tokens, t, t + length), memory, context);
    logits.push_back(output.logits);
    memory = remember(memory, output.block_inputs, mem_len);
    t += length;
  }
  return concat(logits, 1);
}

/// The number of tokens fed to a language model's cache.
int64_t& position(Cache& cache) { return dynamic_cast<Caches&>(cache).position; }

/// The logits of all segments through a cache that keeps mem_len tokens a block.
Tensor through_cache(const LanguageModel& model, const Tokens& tokens,
                     const std::vector<int64_t>& lengths, int64_t mem_len = unlimited) {
  std::vector<Tensor> logits;
  std::unique_ptr<Cache> cache = model.make_cache(mem_len);
  Context context;
  int64_t t = 0;
  for (int64_t length : lengths) {
    logits.push_back(model(part(tokens, t, t + length), *cache, context));
    t += length;
  }
  CHECK(position(*cache) == t);
  return concat(logits, 1);
}

constexpr int64_t text_length = 17;
const std::vector<std::vector<int64_t>> text_patterns = {{1}, {3, 5}, {8, 1}};

}  // namespace

TEST_CASE("segments with enough memory are the whole, for every model") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(101);
    LanguageModel model = row.make(random);
    Tokens tokens = random_tokens(2, text_length, 7, 102);
    Tensor whole = one_pass(model, tokens);
    for (const auto& pattern : text_patterns) {
      std::vector<int64_t> lengths = cuts(pattern, text_length);
      CHECK(relative_error(through_cache(model, tokens, lengths), whole) <= exactness);
      if (row.takes_memory)
        CHECK(relative_error(in_segments(model, tokens, lengths, unlimited), whole) <= exactness);
    }
  }
}

TEST_CASE("a cache of limited length is a memory of that length") {
  RandomValues random(103);
  LanguageModel model = paper_transformer_xl().make(random);
  Tokens tokens = random_tokens(2, text_length, 7, 104);
  for (int64_t mem_len : {0, 1, 4}) {
    std::vector<int64_t> lengths = cuts({3, 2}, text_length);
    Tensor segments = in_segments(model, tokens, lengths, mem_len);
    CHECK(relative_error(through_cache(model, tokens, lengths, mem_len), segments) <= exactness);
    CHECK(relative_error(segments, one_pass(model, tokens)) > 1e-3);
  }
}

TEST_CASE("token by token, Transformer-XL reaches back n_layer times mem_len exactly") {
  RandomValues random(105);
  ModelRow row = paper_transformer_xl();
  for (int64_t mem_len : {1, 3}) {
    int64_t reach = row.config.n_layer * mem_len;
    LanguageModel model = row.make(random);
    Tokens tokens = random_tokens(1, text_length, 7, 106);
    auto last = [&](auto feed) {
      Tensor logits = feed(model, tokens, cuts({1}, text_length), mem_len);
      return slice(logits, 1, text_length - 1, text_length);
    };
    Tensor remembered = last(in_segments), cached = last(through_cache);
    for (int64_t back = 1; back < text_length; ++back) {
      CAPTURE(back);
      int32_t& token = tokens.values[static_cast<size_t>(text_length - 1 - back)];
      int32_t kept = token;
      token = (token + 3) % 7;
      CHECK(same_bits(last(in_segments), remembered) == (back > reach));
      CHECK(same_bits(last(through_cache), cached) == (back > reach));
      token = kept;
    }
  }
}

TEST_CASE("gradients stop at the memory") {
  RandomValues random(107);
  ModelRow row(R"("mixer": {"type": "transformer_xl_attention"}, "norm_first": false)");
  LanguageModel model = row.make(random);
  // The first segment's tokens are not in the second, so that they have embeddings of their own.
  Tokens first{{1, 3}, {0, 1, 2}}, second{{1, 3}, {3, 4, 5}};
  Context context;
  Tape tape;
  Memory memory = remember({}, model(first, {}, context).block_inputs, 3);
  for (const Tensor& block : memory) CHECK_FALSE(block.requires_gradient());
  tape.backward(cross_entropy(model(second, memory, context).logits, first));
  Values gradient = gradient_of(model.embedding.weight);
  for (int64_t token = 0; token < 7; ++token) {
    double largest = 0;
    for (int64_t c = 0; c < 4; ++c) largest = std::max(largest, std::abs(gradient(token, c)));
    CHECK((largest > 0) == (token >= 3 && token <= 5));
  }
}

TEST_CASE("remember keeps the newest of the old memory and the new inputs") {
  RandomValues random(108);
  Tensor old = random.tensor({2, 3, 4}), fresh = random.tensor({2, 2, 4});
  Tensor all = concat({old, fresh}, 1);
  for (int64_t kept : {0, 1, 4, 5, 9}) {
    Memory memory = remember({old, old}, {fresh, fresh}, kept);
    CHECK(memory.size() == 2);
    CHECK(same_bits(memory[1], slice(all, 1, std::max<int64_t>(0, 5 - kept), 5)));
  }
  CHECK(same_bits(remember({}, {fresh}, 5)[0], fresh));
}

TEST_CASE("a model's cache can be cloned, reordered, and forget") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(109);
    LanguageModel model = row.make(random);
    Tokens tokens = random_tokens(2, 9, 7, 110);
    Tensor whole = one_pass(model, tokens);
    Context context;
    std::unique_ptr<Cache> cache = model.make_cache();
    model(part(tokens, 0, 4), *cache, context);
    std::unique_ptr<Cache> clone = cache->clone();
    model(random_tokens(2, 3, 7, 111), *cache, context);
    CHECK(position(*clone) == 4);
    clone->reorder({1, 0, 1});
    Tokens rest{{3, 5}, {}};
    for (int64_t member : {1, 0, 1})
      for (int64_t t = 4; t < 9; ++t)
        rest.values.push_back(tokens.values[static_cast<size_t>(member * 9 + t)]);
    Tensor logits = model(rest, *clone, context);
    for (auto [b, member] : {std::pair{0, 1}, {1, 0}, {2, 1}})
      CHECK(relative_error(slice(logits, 0, b, b + 1),
                           slice(slice(whole, 0, member, member + 1), 1, 4, 9)) <= exactness);
  }
  RandomValues random(112);
  LanguageModel model = paper_transformer_xl().make(random);
  Tokens tokens = random_tokens(2, 9, 7, 113);
  std::unique_ptr<Cache> cache = model.make_cache();
  Context context;
  model(part(tokens, 0, 4), *cache, context);
  model(random_tokens(2, 3, 7, 114), *cache, context);
  cache->forget_newest(3);
  CHECK(position(*cache) == 4);
  CHECK(relative_error(model(part(tokens, 4, 9), *cache, context),
                       slice(one_pass(model, tokens), 1, 4, 9)) <= exactness);
}

TEST_CASE("absolute positions that start anew in each segment are wrong, relative ones cure it") {
  const std::string absolute =
      R"("mixer": {"type": "multi_head_attention"}, "position": "sinusoid")";
  const std::string relative = R"("mixer": {"type": "transformer_xl_attention"})";
  for (bool is_relative : {false, true}) {
    RandomValues random(115);
    LanguageModel model = ModelRow(is_relative ? relative : absolute).make(random);
    Tokens tokens = random_tokens(2, 10, 7, 116);
    Context context;
    std::unique_ptr<Cache> cache = model.make_cache();
    model(part(tokens, 0, 5), *cache, context);
    position(*cache) = 0;
    Tensor anew = model(part(tokens, 5, 10), *cache, context);
    double error = relative_error(anew, slice(one_pass(model, tokens), 1, 5, 10));
    CHECK((is_relative ? error <= exactness : error > 1e-2));
  }
}

TEST_CASE("a remembered token and a new one at the same absolute position are the same") {
  const std::string absolute =
      R"("mixer": {"type": "multi_head_attention"}, "position": "learned", "max_len": 10)";
  const std::string relative = R"("mixer": {"type": "transformer_xl_attention"})";
  for (bool is_relative : {false, true}) {
    RandomValues random(119);
    ModelRow row(is_relative ? relative : absolute);
    row.config.n_layer = 1;
    LanguageModel model = row.make(random);
    Tokens tokens = random_tokens(2, 15, 7, 120);
    // Of three segments behind a memory of one, the second and the third begin at position 5.
    auto last = [&] { return slice(in_segments(model, tokens, {5, 5, 5}, 5), 1, 14, 15); };
    Tensor before = last();
    for (size_t start : {0, 15}) {
      tokens.values[start + 6] = 1;
      tokens.values[start + 11] = 2;
    }
    Tensor one_way = last();
    for (size_t start : {0, 15}) std::swap(tokens.values[start + 6], tokens.values[start + 11]);
    Tensor other_way = last();
    CHECK(relative_error(one_way, before) > 1e-3);
    double error = relative_error(other_way, one_way);
    CHECK((is_relative ? error > 1e-3 : error <= exactness));
  }
}

TEST_CASE("in a model the future changes no bit of the past") {
  for (const ModelRow& row : model_rows()) {
    CAPTURE(row.json);
    RandomValues random(117);
    LanguageModel model = row.make(random);
    Tokens tokens = random_tokens(2, 9, 7, 118);
    Tensor before = slice(one_pass(model, tokens), 1, 0, 5);
    for (size_t n = 0; n < tokens.values.size(); ++n)
      if (n % 9 >= 5) tokens.values[n] = (tokens.values[n] + 2) % 7;
    CHECK(same_bits(slice(one_pass(model, tokens), 1, 0, 5), before));
  }
}
