#include "optim/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/tape.h"
#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/foreign_locale.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"
#include "tests/support/values.h"

using namespace shiftgrad;
using test::near;

namespace {

/// -log softmax(row)[target], as the formula has it.
double naive_loss(const Scalar* row, int64_t V, int32_t target) {
  double total = 0;
  for (int64_t v = 0; v < V; ++v) total += std::exp(static_cast<double>(row[v]));
  return std::log(total) - static_cast<double>(row[target]);
}

Tokens row_of(const std::vector<int32_t>& text, int64_t begin, int64_t end) {
  return {{1, end - begin}, {text.begin() + begin, text.begin() + end}};
}

/// The mean loss when token i is predicted from the tokens begin(i) … i-1 and no others.
template <class Begin>
double naive_nats(const LanguageModel& model, const std::vector<int32_t>& text, Begin begin) {
  double total = 0;
  Context context;
  auto N = static_cast<int64_t>(text.size());
  for (int64_t i = 1; i < N; ++i) {
    Tensor logits = model(row_of(text, begin(i), i), Memory{}, context).logits;
    int64_t V = logits.size(2);
    total += naive_loss(logits.data() + (logits.size(1) - 1) * V, V, text[i]);
  }
  return total / static_cast<double>(N - 1);
}

/// The loop of the Transformer-XL code over one stream, its memory made of layer inputs:
///     end = M + max(0, T - ext_len), begin = max(0, end - mem_len), memory = (memory;
///     x)[begin:end]
double naive_nats_with_memory(const LanguageModel& model, const std::vector<int32_t>& text,
                              const EvaluationConfig& config) {
  double total = 0;
  Context context;
  Memory memory;
  auto last = static_cast<int64_t>(text.size()) - 1;
  for (int64_t i = 0; i < last; i += config.tgt_len) {
    int64_t counted = std::min(config.tgt_len, last - i),
            begin = std::max<int64_t>(0, i - config.ext_len);
    auto [logits, inputs, features] = model(row_of(text, begin, i + counted), memory, context);
    int64_t T = logits.size(1), V = logits.size(2);
    for (int64_t n = 0; n < counted; ++n)
      total += naive_loss(logits.data() + (T - counted + n) * V, V, text[i + n + 1]);
    for (size_t layer = 0; layer < inputs.size(); ++layer) {
      Tensor all = memory.empty() ? inputs[layer] : concat({memory[layer], inputs[layer]}, 1);
      int64_t M = all.size(1) - T, end = M + std::max<int64_t>(0, T - config.ext_len);
      inputs[layer] = contiguous(slice(all, 1, std::max<int64_t>(0, end - config.mem_len), end));
    }
    memory = inputs;
  }
  return total / static_cast<double>(last);
}

}  // namespace

TEST_CASE("evaluate: chunks know nothing of each other") {
  LanguageModel model = loud_model(small_transformer(8));
  std::vector<int32_t> text = random_text(43, 7);
  for (int64_t T : {1, 5, 8})
    for (int64_t batch_size : {1, 3, 100}) {
      Evaluation result = evaluate(
          model, text, {.mode = EvaluationMode::chunks, .tgt_len = T, .batch_size = batch_size});
      double expected = naive_nats(model, text, [T](int64_t i) { return (i - 1) / T * T; });
      CHECK(std::abs(result.nats - expected) < near);
      CHECK(result.tokens == 42);
    }
}

TEST_CASE("evaluate: the sliding window shows each token the same number before it") {
  LanguageModel model = loud_model(small_transformer(8));
  std::vector<int32_t> text = random_text(30, 7);
  for (int64_t T : {1, 5, 8})
    for (int64_t batch_size : {1, 7, 100}) {
      Evaluation result = evaluate(
          model, text, {.mode = EvaluationMode::sliding, .tgt_len = T, .batch_size = batch_size});
      auto begin = [T](int64_t i) { return std::max<int64_t>(0, i - T); };
      CHECK(std::abs(result.nats - naive_nats(model, text, begin)) < near);
      CHECK(result.tokens == 29);
    }
}

TEST_CASE("evaluate: enough memory shows everything") {
  LanguageModel model = loud_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(40, 7);
  double expected = naive_nats(model, text, [](int64_t) { return 0; });
  for (int64_t T : {1, 6, 39, 50}) {
    CHECK(std::abs(evaluate(model, text, {.tgt_len = T, .mem_len = 39}).nats - expected) < near);
    EvaluationConfig all{.tgt_len = T, .mem_len = unlimited, .ext_len = 2};
    CHECK(std::abs(evaluate(model, text, all).nats - expected) < near);
    EvaluationConfig fed_again{.tgt_len = T, .mem_len = 0, .ext_len = 39};
    CHECK(std::abs(evaluate(model, text, fed_again).nats - expected) < near);
  }
  EvaluationConfig one_chunk{.mode = EvaluationMode::chunks, .tgt_len = 39};
  CHECK(std::abs(evaluate(model, text, one_chunk).nats - expected) < near);
}

TEST_CASE("evaluate: target, memory and extended lengths as in the Transformer-XL code") {
  LanguageModel model = loud_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(37, 7);
  for (int64_t tgt_len : {1, 4, 9})
    for (int64_t mem_len : {0, 1, 5, 12})
      for (int64_t ext_len : {0, 1, 3, 6, 20}) {
        CAPTURE(tgt_len);
        CAPTURE(mem_len);
        CAPTURE(ext_len);
        EvaluationConfig config{.tgt_len = tgt_len, .mem_len = mem_len, .ext_len = ext_len};
        Evaluation result = evaluate(model, text, config);
        CHECK(std::abs(result.nats - naive_nats_with_memory(model, text, config)) < near);
        CHECK(result.tokens == 36);
      }
}

TEST_CASE("evaluate: absolute positions start anew in each segment that has no memory") {
  LanguageModelConfig learned = small_transformer(29), layers = learned, sinusoid = learned,
                      aft = learned;
  layers.layer_positions = true;
  sinusoid.position = TokenPosition::sinusoid;
  aft.position = TokenPosition::none;
  sinusoid.max_len = aft.max_len = std::nullopt;
  AftConfig full{.form = AftForm::full, .max_len = 29};
  aft.mixer = full;
  std::vector<int32_t> text = random_text(100, 7);
  for (const LanguageModelConfig& model_config : {learned, layers, sinusoid, aft}) {
    LanguageModel model = loud_model(model_config);
    for (int64_t tgt_len : {1, 4, 9})
      for (int64_t ext_len : {0, 1, 6, 20}) {
        CAPTURE(tgt_len);
        CAPTURE(ext_len);
        EvaluationConfig config{.tgt_len = tgt_len, .mem_len = 0, .ext_len = ext_len};
        Evaluation result = evaluate(model, text, config);
        CHECK(std::abs(result.nats - naive_nats_with_memory(model, text, config)) < near);
        CHECK(result.tokens == 99);
        config.batch_size = 3;  // streams of 33 tokens
        double streams = 0;
        for (int64_t begin : {0, 33, 66})
          streams += naive_nats_with_memory(
              model, {text.begin() + begin, text.begin() + begin + 34}, config);
        CHECK(std::abs(evaluate(model, text, config).nats - streams / 3) < near);
      }
  }
}

TEST_CASE("evaluate: streams predict each token once, from the start of their own") {
  LanguageModel model = loud_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(39, 7);  // streams of 9 tokens, the last of 11
  Evaluation result = evaluate(model, text, {.tgt_len = 4, .mem_len = 38, .batch_size = 4});
  auto begin = [](int64_t i) { return std::min<int64_t>((i - 1) / 9, 3) * 9; };
  CHECK(std::abs(result.nats - naive_nats(model, text, begin)) < near);
  CHECK(result.tokens == 38);
}

TEST_CASE("evaluate: each token's loss is what it adds to that of the text before it") {
  LanguageModel model = loud_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(40, 7);
  for (EvaluationConfig config :
       {EvaluationConfig{.mode = EvaluationMode::memory, .tgt_len = 6, .mem_len = 9, .ext_len = 2},
        EvaluationConfig{.mode = EvaluationMode::chunks, .tgt_len = 6, .batch_size = 4},
        EvaluationConfig{.mode = EvaluationMode::sliding, .tgt_len = 6, .batch_size = 3}}) {
    std::vector<double> losses;
    Evaluation whole = evaluate(model, text, config, &losses);
    REQUIRE(losses.size() == 39);
    double before = 0;
    for (size_t n = 0; n < losses.size(); ++n) {
      double total =
          evaluate(model, std::span(text).first(n + 2), config).nats * static_cast<double>(n + 1);
      CHECK(losses[n] == doctest::Approx(total - before).epsilon(1e-3));
      before = total;
    }
    CHECK(before / 39 == doctest::Approx(whole.nats));
  }
}

TEST_CASE("evaluate: progress counts up to the last token") {
  LanguageModel model = loud_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(40, 7);
  for (EvaluationMode mode :
       {EvaluationMode::memory, EvaluationMode::chunks, EvaluationMode::sliding}) {
    std::vector<int64_t> counts;
    evaluate(
        model, text,
        {.mode = mode, .tgt_len = 6, .batch_size = 3, .progress = [&](int64_t done, int64_t total) {
           CHECK(total == 39);
           counts.push_back(done);
         }});
    CHECK(counts.size() > 2);
    CHECK(std::ranges::is_sorted(counts));
    CHECK(counts.back() == 39);
  }
}

TEST_CASE("evaluate: units") {
  Evaluation result{.nats = 2, .tokens = 30, .seconds = 1.5};
  CHECK(result.bits() == doctest::Approx(2.8853900817779268));
  CHECK(result.perplexity() == doctest::Approx(7.3890560989306495));
  CHECK(result.tokens_per_second() == 20);
}

TEST_CASE("evaluate: records nothing") {
  LanguageModel model = loud_model(small_transformer_xl());
  Tape tape;
  evaluate(model, random_text(10, 7), {});
  CHECK(tape.size() == 0);
}

TEST_CASE("evaluate: a window sees as far as the window says, whatever the segments") {
  LanguageModelConfig config = small_transformer_xl();
  config.n_layer = 1;
  std::get<TransformerXLAttentionConfig>(config.mixer).sight.window = 5;
  LanguageModel model = loud_model(config);
  std::vector<int32_t> text = random_text(40, 7);
  double expected = naive_nats(model, text, [](int64_t i) { return std::max<int64_t>(0, i - 5); });
  for (int64_t T : {1, 6, 39})
    CHECK(std::abs(evaluate(model, text, {.tgt_len = T, .mem_len = 39}).nats - expected) < near);
  CHECK(refusal([&] { evaluate(model, text, {.tgt_len = 6, .ext_len = 2}); }) ==
        "cache: cannot forget tokens when older ones have left the window");
}

TEST_CASE("evaluate: bad requests") {
  LanguageModel model = loud_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(10, 7);
  auto refused = [&](const EvaluationConfig& config) {
    return refusal([&] { evaluate(model, text, config); });
  };
  CHECK(refused({.tgt_len = 0}) == "evaluate: tgt_len 0, expected at least 1");
  CHECK(refused({.mem_len = -1}) == "evaluate: mem_len -1, expected at least 0");
  CHECK(refused({.ext_len = -1}) == "evaluate: ext_len -1, expected at least 0");
  CHECK(refused({.batch_size = 0}) == "evaluate: batch_size 0, expected at least 1");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(refused({.tgt_len = most}) ==
        "evaluate: tgt_len 9223372036854775807, expected at most 1000000000");
  CHECK(refused({.ext_len = most}) ==
        "evaluate: ext_len 9223372036854775807, expected at most 1000000000");
  CHECK(refused({.mem_len = -1}) == "evaluate: mem_len -1, expected at least 0");
  CHECK(refused({.batch_size = 10}) == "evaluate: 10 tokens are too few for 10 streams");
  LanguageModelConfig learned = small_transformer_xl();
  learned.mixer = RelativeMultiHeadAttentionConfig{.max_positions = 7};
  model = loud_model(learned);
  evaluate(model, text, {.mode = EvaluationMode::chunks, .tgt_len = 8});
  CHECK(refused({.mode = EvaluationMode::chunks, .tgt_len = 9}) ==
        "evaluate: mode chunks feeds 9 tokens in a row, but the model has 8 positions");
  evaluate(model, text, {.mode = EvaluationMode::memory, .tgt_len = 3, .mem_len = 4, .ext_len = 1});
  CHECK(refused({.mode = EvaluationMode::memory, .tgt_len = 3, .mem_len = 4, .ext_len = 2}) ==
        "evaluate: mem_len 4, ext_len 2 and tgt_len 3 make 9 keys in this text, but the model has "
        "8 positions");
  model = loud_model(small_transformer(8));
  evaluate(model, text, {.tgt_len = 6, .mem_len = 0, .ext_len = 2});
  CHECK(refused({.tgt_len = 6, .mem_len = 0, .ext_len = 3}) ==
        "evaluate: mode memory feeds 9 tokens in a row, but the model has 8 positions");
  CHECK(refused({.tgt_len = 6, .mem_len = 1}) ==
        "evaluate: mode memory feeds 9 tokens in a row, but the model has 8 positions");
  CHECK(refusal([&] { evaluate(model, random_text(1, 7), {}); }) ==
        "evaluate: a text of 1 tokens, expected at least 2");
}

TEST_CASE("evaluate: the result prints in one line") {
  CHECK(text(Evaluation{.nats = std::log(2.0) * 2.5, .tokens = 1000}) ==
        "2.5 bits per token, perplexity 5.657, over 1000 tokens");
  CHECK(text(Evaluation{.nats = -std::nan(""), .tokens = 9}) ==
        "nan bits per token, perplexity nan, over 9 tokens");
}

TEST_CASE("evaluate: the result looks the same on a stream of any locale") {
  std::ostringstream out;
  out.imbue(ForeignLocale::foreign());
  out << Evaluation{.nats = std::log(2.0) * 10.5, .tokens = 12345};
  CHECK(out.str() == "10.5 bits per token, perplexity 1448, over 12345 tokens");
}
