#include "nn/models/beam_search.h"

#include <map>
#include <set>
#include <thread>

#include "core/tape.h"
#include "tests/support/named_parameters.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"
#include "tests/support/translators.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Text = std::vector<int32_t>;

constexpr DecodingOptions options{.begin = 1, .end = 0, .max_length = 12};
constexpr Sampling greedy{.temperature = 0};

/// Models that differ in what their decoder keeps.
std::vector<TranslatorRow> rows() {
  return {paper_transformer(),
          {R"("multi_head_attention", "position": "rope")",
           R"("multi_head_attention", "position": "rope")"},
          {R"("aft", "form": "simple")", R"("aft", "form": "conv", "window": 3)"},
          {R"("relative_global_attention", "max_seq": 4)", R"("local_rnn", "window": 3)"}};
}

/// A model of weights large enough for its targets to depend on the source, and to end.
EncoderDecoder decided(const TranslatorRow& row, uint64_t seed) {
  RandomValues random(seed, -2, 2);
  return row.make(random);
}

/// log P of each token behind `target` and its begin, computed from nothing but these.
std::vector<double> next_log_probabilities(const EncoderDecoder& model, const Text& source,
                                           const Text& target) {
  Text fed = {options.begin};
  fed.insert(fed.end(), target.begin(), target.end());
  Context context;
  Values logits(model(pad({source}), pad({fed}), context));
  int64_t V = logits.size(2);
  double total = 0;
  for (int64_t v = 0; v < V; ++v) total += std::exp(logits(0, std::ssize(fed) - 1, v));
  std::vector<double> result;
  for (int64_t v = 0; v < V; ++v)
    result.push_back(logits(0, std::ssize(fed) - 1, v) - std::log(total));
  return result;
}

/// log P(target, end | source).
double log_probability(const EncoderDecoder& model, const Text& source, const Text& target) {
  double sum = 0;
  for (size_t n = 0; n <= target.size(); ++n) {
    Text before(target.begin(), target.begin() + static_cast<int64_t>(n));
    int32_t next = n < target.size() ? target[n] : options.end;
    sum += next_log_probabilities(model, source, before)[static_cast<size_t>(next)];
  }
  return sum;
}

/// What sums of some logits may differ by.
constexpr double tolerance = 1e3 * exactness;

std::vector<Text> texts(const std::vector<Hypothesis>& hypotheses) {
  std::vector<Text> result;
  for (const Hypothesis& hypothesis : hypotheses) result.push_back(hypothesis.tokens);
  return result;
}

/// Every target of at most `longest` tokens other than the end.
std::vector<Text> all_targets(int32_t vocabulary, int64_t longest) {
  std::vector<Text> all = {{}};
  for (size_t n = 0; n < all.size(); ++n)
    for (int32_t token = 0; token < vocabulary; ++token) {
      if (token == options.end || std::ssize(all[n]) == longest) continue;
      Text longer = all[n];
      longer.push_back(token);
      all.push_back(longer);
    }
  return all;
}

}  // namespace

TEST_CASE("greedy, cached and batched, takes the likeliest token that no cache gives") {
  int64_t ragged = 0;
  for (const TranslatorRow& row : rows()) {
    CAPTURE(row.json);
    EncoderDecoder model = decided(row, 204);
    auto sources = random_sequences(40, 6, 6, 132);
    std::vector<Hypothesis> got = sample_targets(model, pad(sources), options, greedy);
    REQUIRE(got.size() == sources.size());
    std::set<size_t> lengths;
    for (size_t b = 0; b < got.size(); ++b) {
      lengths.insert(got[b].tokens.size());
      Text before, chosen = got[b].tokens;
      chosen.push_back(options.end);
      for (int32_t token : chosen) {
        std::vector<double> log_p = next_log_probabilities(model, sources[b], before);
        double greatest = *std::ranges::max_element(log_p);
        bool cut = std::ssize(before) == options.max_length;
        if (!cut) CHECK(log_p[static_cast<size_t>(token)] >= greatest - tolerance);
        before.push_back(token);
      }
      CHECK(got[b].log_probability ==
            doctest::Approx(log_probability(model, sources[b], got[b].tokens)).epsilon(tolerance));
    }
    ragged += lengths.size() > 1 ? 1 : 0;
  }
  // Batches that targets leave one after the other.
  CHECK(ragged >= 2);
}

TEST_CASE("a beam of 1 is greedy, and so is a temperature of 0") {
  for (const TranslatorRow& row : rows())
    for (double length_penalty : {0.0, 1.0}) {
      CAPTURE(row.json);
      EncoderDecoder model = decided(row, 133);
      Padded<Tokens> sources = pad(random_sequences(9, 6, 6, 134));
      auto likeliest = sample_targets(model, sources, options, greedy);
      auto beams =
          beam_search(model, sources, options, {.width = 1, .length_penalty = length_penalty});
      REQUIRE(beams.size() == likeliest.size());
      for (size_t b = 0; b < beams.size(); ++b) {
        REQUIRE(beams[b].size() == 1);
        CHECK(beams[b][0].tokens == likeliest[b].tokens);
        CHECK(beams[b][0].log_probability == doctest::Approx(likeliest[b].log_probability));
      }
    }
}

TEST_CASE("a beam as wide as the space is an exhaustive search") {
  for (TranslatorRow row : rows())
    for (double length_penalty : {0.0, 0.6, 2.0}) {
      CAPTURE(row.json);
      row.config.source_vocab_size = row.config.target_vocab_size = 3;
      EncoderDecoder model = decided(row, 135);
      Text source = {1, 2, 0, 1};
      std::vector<Text> space = all_targets(3, 3);
      REQUIRE(space.size() == 15);
      DecodingOptions within = options;
      within.max_length = 3;
      BeamOptions beam{.width = 15, .length_penalty = length_penalty};
      std::vector<Hypothesis> expected;
      for (const Text& target : space)
        expected.push_back({target, log_probability(model, source, target)});
      std::ranges::sort(expected, std::greater(), [&](auto& h) { return beam.score(h); });
      auto got = beam_search(model, pad({source}), within, beam)[0];
      REQUIRE(got.size() == 15);
      CHECK(texts(got) == texts(expected));
      for (size_t n = 0; n < got.size(); ++n)
        CHECK(beam.score(got[n]) == doctest::Approx(beam.score(expected[n])).epsilon(tolerance));
    }
}

TEST_CASE("a beam's targets are apart, sorted by score, and as likely as the model says") {
  for (const TranslatorRow& row : rows()) {
    CAPTURE(row.json);
    EncoderDecoder model = decided(row, 136);
    auto sources = random_sequences(4, 6, 6, 137);
    BeamOptions beam{.width = 3, .length_penalty = 0.8};
    auto got = beam_search(model, pad(sources), options, beam);
    for (size_t b = 0; b < sources.size(); ++b) {
      CHECK(got[b].size() == 3);
      std::set<Text> distinct;
      for (size_t n = 0; n < got[b].size(); ++n) {
        const Hypothesis& hypothesis = got[b][n];
        CHECK(std::ranges::count(hypothesis.tokens, options.end) == 0);
        CHECK(distinct.insert(hypothesis.tokens).second);
        if (n > 0) CHECK(beam.score(hypothesis) <= beam.score(got[b][n - 1]));
        CHECK(hypothesis.log_probability ==
              doctest::Approx(log_probability(model, sources[b], hypothesis.tokens))
                  .epsilon(tolerance));
      }
    }
  }
}

TEST_CASE("a batch of unequal sources gives what each alone gives") {
  int64_t ragged = 0;
  for (const TranslatorRow& row : rows()) {
    CAPTURE(row.json);
    EncoderDecoder model = decided(row, 218);
    auto sources = random_sequences(20, 6, 6, 139);
    auto beams = beam_search(model, pad(sources), options, {.width = 3});
    Sampling sampling{.temperature = 1.2, .top_p = 0.95};
    auto samples = sample_targets(model, pad(sources), options, sampling, 5);
    std::set<size_t> lengths;
    for (size_t b = 0; b < sources.size(); ++b) {
      auto alone = beam_search(model, pad({sources[b]}), options, {.width = 3})[0];
      CHECK(texts(beams[b]) == texts(alone));
      lengths.insert(beams[b][0].tokens.size());
      auto sample = sample_targets(model, pad({sources[b]}), options, sampling, 5, b);
      CHECK(samples[b].tokens == sample[0].tokens);
    }
    ragged += lengths.size() > 1 ? 1 : 0;
  }
  CHECK(ragged >= 2);
}

TEST_CASE("samples differ with the seed and come as often as they are likely") {
  TranslatorRow row = paper_transformer();
  row.config.source_vocab_size = row.config.target_vocab_size = 3;
  RandomValues random(140);
  EncoderDecoder model = row.make(random);
  Text source = {2, 1};
  DecodingOptions within = options;
  within.max_length = 2;
  constexpr int64_t draws = 4000;
  std::map<Text, int64_t> counts;
  for (const Hypothesis& sample :
       sample_targets(model, pad(std::vector<Text>(draws, source)), within, {}, 7))
    ++counts[sample.tokens];
  double total = 0;
  for (const Text& target : all_targets(3, 2)) {
    // Behind the last token that there may be the end is certain.
    double p = std::exp(log_probability(model, source, target));
    if (target.size() == 2) {
      std::vector<double> log_p = next_log_probabilities(model, source, target);
      p /= std::exp(log_p[static_cast<size_t>(options.end)]);
    }
    total += p;
    double deviation = std::sqrt(draws * p * (1 - p));
    CHECK(std::abs(static_cast<double>(counts[target]) - draws * p) <= 5 * deviation + 1);
  }
  CHECK(total == doctest::Approx(1));
  CHECK(counts.size() > 3);
}

TEST_CASE("the score divides by ((5 + n) / 6)^α, n with the end") {
  Hypothesis hypothesis{{4, 5, 4, 5}, -3};
  CHECK(BeamOptions{.length_penalty = 0}.score(hypothesis) == -3);
  CHECK(BeamOptions{.length_penalty = 1}.score(hypothesis) == doctest::Approx(-3 / (10.0 / 6)));
  CHECK(BeamOptions{.length_penalty = 0.6}.score(hypothesis) ==
        doctest::Approx(-3 / std::pow(10.0 / 6, 0.6)));
  CHECK(BeamOptions{.length_penalty = 2}.score({{}, -3}) == -3);
}

TEST_CASE("a target has at most max_length tokens, which may be none") {
  RandomValues random(141);
  EncoderDecoder model = paper_transformer().make(random);
  Padded<Tokens> sources = pad(random_sequences(4, 5, 6, 142));
  for (int64_t longest : {0, 1, 3}) {
    DecodingOptions within = options;
    within.max_length = longest;
    for (const auto& beam : beam_search(model, sources, within, {.width = 4}))
      for (const Hypothesis& hypothesis : beam) CHECK(std::ssize(hypothesis.tokens) <= longest);
    for (const Hypothesis& hypothesis : sample_targets(model, sources, within, greedy))
      CHECK(std::ssize(hypothesis.tokens) <= longest);
  }
}

TEST_CASE("an end that is never quite unlikely does not end the search for a longer target") {
  RandomValues random(146);
  EncoderDecoder model = paper_transformer().make(random);
  // At every step the same: token 2 first, then the end, all others behind.
  assign(model, "source.embedding.weight", 0);
  assign(model, "output.bias", Values(Tensor::from({6}, std::vector<Scalar>{1, 0, 5, 0, 0, 0})));
  DecodingOptions within = options;
  within.max_length = 6;
  for (int64_t width : {1, 2, 4}) {
    auto got = beam_search(model, pad({{1, 2}}), within, {.width = width, .length_penalty = 1});
    CHECK(got[0].front().tokens == Text(6, 2));
  }
}

TEST_CASE("decoding records nothing on a live tape, and two threads share a model") {
  RandomValues random(143);
  const EncoderDecoder model = paper_transformer().make(random);
  Padded<Tokens> sources = pad(random_sequences(4, 5, 6, 144));
  Tape tape;
  auto expected = beam_search(model, sources, options, {.width = 4})[2];
  CHECK(tape.size() == 0);
  std::vector<Hypothesis> other;
  std::thread thread([&] { other = beam_search(model, sources, options, {.width = 4})[2]; });
  CHECK(texts(beam_search(model, sources, options, {.width = 4})[2]) == texts(expected));
  thread.join();
  CHECK(texts(other) == texts(expected));
}

TEST_CASE("decoding: what is refused") {
  RandomValues random(145);
  EncoderDecoder model = TranslatorRow(R"("aft", "form": "simple")", R"("aft", "form": "simple")",
                                       R"("decoder_position": "learned", "decoder_max_len": 5)")
                             .make(random);
  Padded<Tokens> source = pad({{1, 2}});
  auto refused = [&](const DecodingOptions& decoding, const BeamOptions& beam = {}) {
    return refusal([&] { beam_search(model, source, decoding, beam); });
  };
  DecodingOptions good{.begin = 1, .end = 0, .max_length = 4};
  CHECK(refused({.begin = 6, .max_length = 4}) == "decoding: begin 6, expected 0 to 5");
  CHECK(refused({.end = -1, .max_length = 4}) == "decoding: end -1, expected 0 to 5");
  CHECK(refused({.max_length = -1}) == "decoding: max_length -1, expected at least 0");
  CHECK(refused({.max_length = 5}) ==
        "decoding: max_length 5, but a target has at most 5 tokens with its begin");
  CHECK(refused(good, {.width = 0}) == "beam_search: width 0, expected at least 1");
  CHECK(refused(good, {.length_penalty = -1}) ==
        "beam_search: length_penalty -1, expected at least 0");
  CHECK(refusal([&] { sample_targets(model, source, good, {.top_k = -1}); }) ==
        "sampling: top_k -1, expected at least 0");
  parameters(model).back().value.mutable_data()[2] = not_a_number;
  CHECK(refused(good) == "decoding: a logit is nan, expected finite ones");
  CHECK(beam_search(model, pad(std::vector<Text>{}), good, {}).empty());
}

TEST_CASE("a finished target displaces none in progress that could become better") {
  // One of the two tokens ends a target, so one is in progress, and the finished ones compete.
  int64_t longer = 0;
  for (double length_penalty : {0.0, 0.6, 2.0, 4.0})
    for (uint64_t seed = 0; seed < 30; ++seed) {
      TranslatorRow row = paper_transformer();
      row.config.source_vocab_size = row.config.target_vocab_size = 2;
      EncoderDecoder model = decided(row, 300 + seed);
      DecodingOptions within = options;
      within.max_length = 6;
      Text source = {1, 0, 0, 1};
      BeamOptions narrow{.width = 2, .length_penalty = length_penalty}, exhaustive = narrow;
      exhaustive.width = within.max_length + 1;
      auto best = beam_search(model, pad({source}), within, exhaustive)[0];
      auto got = beam_search(model, pad({source}), within, narrow)[0];
      REQUIRE(best.size() == 7);
      CHECK(texts(got) == std::vector<Text>{best[0].tokens, best[1].tokens});
      longer += best[0].tokens.size() > best[1].tokens.size() ? 1 : 0;
    }
  CHECK(longer > 5);
}

TEST_CASE("of equal scores, who ended first is better, then the earlier row, the smaller token") {
  RandomValues random(147);
  EncoderDecoder model = paper_transformer().make(random);
  assign(model, "source.embedding.weight", 0);
  auto decoded = [&](const std::vector<Scalar>& logits, int64_t max_length, int64_t width) {
    assign(model, "output.bias", Values(Tensor::from({6}, logits)));
    DecodingOptions within = options;
    within.max_length = max_length;
    return texts(
        beam_search(model, pad({{1, 2}}), within, {.width = width, .length_penalty = 0})[0]);
  };
  // Token 2 is certain to the last bit, so that every target of it and the end is as likely.
  CHECK(decoded({0, -800, 800, -800, -800, -800}, 3, 4) ==
        std::vector<Text>{{}, {2}, {2, 2}, {2, 2, 2}});
  CHECK(decoded({0, 0, 0, 0, 0, 0}, 1, 4) == std::vector<Text>{{}, {1}, {2}, {3}});
  CHECK(decoded({-800, 0, 0, 0, -800, -800}, 2, 3) == std::vector<Text>{{1, 1}, {1, 2}, {1, 3}});
}
