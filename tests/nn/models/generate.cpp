#include "nn/models/generate.h"

#include <algorithm>
#include <string>
#include <thread>
#include <type_traits>

#include "core/tape.h"
#include "nn/models/byte_text.h"
#include "nn/models/language_model.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

using Text = std::vector<int32_t>;

LanguageModelConfig tiny(const MixerConfig& mixer) {
  LanguageModelConfig config;
  config.vocab_size = 11;
  config.d_model = 8;
  config.n_layer = config.n_head = 2;
  config.d_inner = 16;
  config.mixer = mixer;
  return config;
}

LanguageModel transformer_xl() {
  Random random{.seed = 3};
  return {tiny(TransformerXLAttentionConfig{}), random};
}

/// With learned absolute positions, `max_len` of them.
LanguageModel vanilla(int64_t max_len) {
  LanguageModelConfig config = tiny(MultiHeadAttentionConfig{});
  config.position = TokenPosition::learned;
  config.max_len = max_len;
  Random random{.seed = 3};
  return {config, random};
}

GenerateOptions greedy_options(int64_t length) {
  return {.length = length, .sampling = {.temperature = 0}};
}

/// The likeliest token after `text`, computed from nothing.
int32_t likeliest(const LanguageModel& model, std::span<const int32_t> text) {
  Context context;
  Tokens tokens{{1, std::ssize(text)}, {text.begin(), text.end()}};
  std::vector<Scalar> logits = model(tokens, Memory{}, context).logits.values();
  auto last = logits.end() - model.config.vocab_size;
  return static_cast<int32_t>(std::max_element(last, logits.end()) - last);
}

/// `text` made longer by the likeliest token as many times.
Text uncached(const LanguageModel& model, Text text, int64_t length) {
  for (int64_t n = 0; n < length; ++n) text.push_back(likeliest(model, text));
  return text;
}

Text continued(const LanguageModel& model, Text text, const GenerateOptions& options) {
  Text made = generate(model, text, options);
  text.insert(text.end(), made.begin(), made.end());
  return text;
}

}  // namespace

TEST_CASE("generate: the greedy choices are those of a forward pass over the whole text") {
  for (const Text& prompt : {Text{5}, Text{1, 2, 3, 4}}) {
    LanguageModel xl = transformer_xl(), absolute = vanilla(64);
    CHECK(continued(xl, prompt, greedy_options(40)) == uncached(xl, prompt, 40));
    CHECK(continued(absolute, prompt, greedy_options(40)) == uncached(absolute, prompt, 40));
  }
}

TEST_CASE("generate: a prompt of several pieces is one text") {
  LanguageModel model = transformer_xl();
  Text prompt(600);
  for (size_t n = 0; n < prompt.size(); ++n) prompt[n] = static_cast<int32_t>(n * n % 11);
  CHECK(continued(model, prompt, greedy_options(3)) == uncached(model, prompt, 3));
}

TEST_CASE("generate: learned positions, once used up, start afresh from the last half block") {
  LanguageModel model = vanilla(8);
  Text prompt = {1, 2, 3};
  Text expected = uncached(model, prompt, 6);  // 8 tokens were fed, the ninth is new
  while (expected.size() < 30) {
    Text half(expected.end() - 4, expected.end());
    Text longer = uncached(model, half, 5);
    expected.insert(expected.end(), longer.begin() + 4, longer.end());
  }
  expected.resize(30);
  CHECK(continued(model, prompt, greedy_options(27)) == expected);
}

TEST_CASE("generate: positions that an option bounds start afresh like learned ones") {
  LanguageModelConfig config = tiny(MultiHeadAttentionConfig{});
  config.position = TokenPosition::sinusoid;
  Random random{.seed = 3};
  LanguageModel model(config, random);
  Text prompt = {1, 2, 3};
  Text expected = uncached(model, prompt, 6);  // 8 tokens were fed, the ninth is new
  Text half(expected.end() - 4, expected.end());
  Text longer = uncached(model, half, 5);
  expected.insert(expected.end(), longer.begin() + 4, longer.end());
  GenerateOptions options = greedy_options(11);
  options.positions = 8;
  CHECK(continued(model, prompt, options) == expected);
  options.positions = 100;
  CHECK(continued(model, prompt, options) == uncached(model, prompt, 11));
  LanguageModel learned = vanilla(8);
  CHECK(continued(learned, prompt, options) == continued(learned, prompt, greedy_options(11)));
}

TEST_CASE("generate: of a prompt beyond the learned positions the last half block counts") {
  LanguageModel model = vanilla(8);
  Text prompt = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  CHECK(generate(model, prompt, greedy_options(3)) ==
        generate(model, {4, 3, 2, 1}, greedy_options(3)));
  LanguageModel one = vanilla(1);
  CHECK(generate(one, prompt, greedy_options(1)) == generate(one, {1}, greedy_options(1)));
}

TEST_CASE("generate: a prompt may be longer than what a layer has positions for") {
  Random random{.seed = 3};
  LanguageModel model(tiny(RelativeMultiHeadAttentionConfig{.max_positions = 6}), random);
  Text prompt(40);
  for (size_t n = 0; n < prompt.size(); ++n) prompt[n] = static_cast<int32_t>(n * n % 11);
  // One token at a time, the cache drops the oldest.
  std::unique_ptr<Cache> cache = model.make_cache();
  Context context;
  std::vector<Scalar> logits;
  for (int32_t token : prompt) logits = model({{1, 1}, {token}}, *cache, context).values();
  const int64_t likeliest = std::max_element(logits.begin(), logits.end()) - logits.begin();
  CHECK(generate(model, prompt, greedy_options(1)) == Text{static_cast<int32_t>(likeliest)});
  for (int64_t mem_len : {0, 1, 4, 5, 6, 7, 20}) {
    GenerateOptions options = greedy_options(3);
    options.mem_len = mem_len;
    CHECK(generate(model, prompt, options).size() == 3);
  }
}

TEST_CASE("generate: mem_len bounds what is remembered") {
  LanguageModel model = transformer_xl();
  GenerateOptions options = greedy_options(20);
  options.mem_len = 0;
  Text expected = {3};
  for (int n = 0; n < 20; ++n) expected.push_back(likeliest(model, std::span(expected).last(1)));
  CHECK(continued(model, {3}, options) == expected);
}

TEST_CASE("generate: each token is handed out as it is made") {
  LanguageModel model = transformer_xl();
  Text seen;
  Text made = generate(model, {1}, {.length = 5}, [&](int32_t token) { seen.push_back(token); });
  CHECK(made.size() == 5);
  CHECK(seen == made);
  CHECK(generate(model, {1}, {.length = 0}).empty());
}

TEST_CASE("generate: the seed decides, and nothing else") {
  LanguageModel model = transformer_xl();
  Text first = generate(model, {1}, {.length = 50, .seed = 7});
  CHECK(generate(model, {1}, {.length = 50, .seed = 7}) == first);
  CHECK(generate(model, {1}, {.length = 50, .seed = 8}) != first);
}

TEST_CASE("generate: a sample is the same whichever others are made") {
  for (const LanguageModel& model : {transformer_xl(), vanilla(8)}) {
    GenerateOptions options{.length = 30, .seed = 7};
    PrefilledPrompt prompt(model, {1, 2}, options);
    Text third = prompt.generate(2), first = prompt.generate(0), second = prompt.generate(1);
    CHECK(first == generate(model, {1, 2}, options));
    CHECK(third == PrefilledPrompt(model, {1, 2}, options).generate(2));
    CHECK(prompt.generate(1) == second);
    CHECK(first != second);
    CHECK(second != third);
  }
}

TEST_CASE("generate: ends where a stop has just been made, not where the prompt has it") {
  LanguageModel model = transformer_xl();
  GenerateOptions options{.length = 60, .seed = 7};
  Text whole = generate(model, {1}, options);
  Text later = {whole[20], whole[21], whole[22]}, earlier = {whole[9], whole[10]};
  const std::vector<std::vector<Text>> cases = {{later}, {later, earlier}, {earlier, later}};
  for (const std::vector<Text>& stops : cases) {
    auto end = whole.end();
    for (const Text& stop : stops) {
      auto found = std::search(whole.begin(), whole.end(), stop.begin(), stop.end());
      end = std::min(end, found + std::ssize(stop));
    }
    Text expected(whole.begin(), end), seen;
    options.stop = stops;
    CHECK(generate(model, {1}, options, [&](int32_t token) { seen.push_back(token); }) == expected);
    CHECK(seen == expected);
  }

  Text prompt = {3, 4};
  options.stop = {prompt};
  CHECK(generate(model, prompt, options).size() > 1);
  options.stop[0].push_back(generate(model, prompt, options).front());
  CHECK(generate(model, prompt, options).size() > 1);
}

TEST_CASE("generate: the repetition penalty sees the prompt and what was made") {
  LanguageModel model = transformer_xl();
  Sampling sampling{.temperature = 0, .repetition_penalty = 1e9, .repetition_window = 4};
  Text text = {1, 2, 3};
  Text made = generate(model, text, {.length = 20, .sampling = sampling});
  text.insert(text.end(), made.begin(), made.end());
  Context context;
  for (size_t n = 3; n < text.size(); ++n) {
    Tokens before{{1, static_cast<int64_t>(n)}, {text.begin(), text.begin() + n}};
    std::vector<Scalar> logits = model(before, Memory{}, context).logits.values();
    Random random;
    CHECK(text[n] ==
          sample(std::span(logits).last(11), sampling, random, std::span(text).first(n)));
  }
}

TEST_CASE("generate: two threads with one model") {
  const LanguageModel model = transformer_xl();
  Text first, second;
  std::thread other([&] { first = generate(model, {1}, {.length = 50, .seed = 7}); });
  second = generate(model, {2}, {.length = 50, .seed = 8});
  other.join();
  CHECK(first == generate(model, {1}, {.length = 50, .seed = 7}));
  CHECK(second == generate(model, {2}, {.length = 50, .seed = 8}));
}

TEST_CASE("generate: records nothing on a live tape") {
  LanguageModel model = transformer_xl();
  Tape tape;
  generate(model, {1}, {.length = 2});
  CHECK(tape.size() == 0);
}

TEST_CASE("generate: what is refused") {
  LanguageModel model = transformer_xl();
  auto refused = [&](const Text& prompt, const GenerateOptions& options) {
    return refusal([&] { generate(model, prompt, options); });
  };
  CHECK(refused({}, {}) == "generate: an empty prompt, expected at least one token");
  CHECK(refused({11}, {}) == "generate: token 11 in the prompt, expected 0 to 10");
  CHECK(refused({-1}, {}) == "generate: token -1 in the prompt, expected 0 to 10");
  CHECK(refused({1}, {.length = -1}) == "generate: length -1, expected at least 0");
  CHECK(refused({1}, {.mem_len = -1}) == "generate: mem_len -1, expected at least 0");
  CHECK(refused({1}, {.positions = 0}) == "generate: positions 0, expected at least 1");
  CHECK(refused({1}, {.stop = {{1}, {2, 11}}}) == "generate: token 11 in stop, expected 0 to 10");
  CHECK(refused({1}, {.stop = {{1}, {}}}) ==
        "generate: an empty stop, expected at least one token");
  CHECK(refused({1}, {.sampling = {.top_k = -1}}) == "sampling: top_k -1, expected at least 0");
}

TEST_CASE("generate: tokens in braces are tokens, and a prompt in quotes is a text") {
  LanguageModel model = transformer_xl();
  Text made = generate(model, {1, 2}, greedy_options(4));
  CHECK(made == generate(model, Text{1, 2}, greedy_options(4)));
  CHECK(generate(model, {0, 2}, greedy_options(4)).size() == 4);
  std::string text = generate(model, "\x01\x02", greedy_options(4));
  CHECK(Text(text.begin(), text.end()) == made);
  static_assert(!std::is_constructible_v<PrefilledPrompt, LanguageModel, Text, GenerateOptions>);
  static_assert(std::is_constructible_v<PrefilledPrompt, LanguageModel&, Text, GenerateOptions>);
}
