#include "nn/models/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>

#include "core/checked.h"
#include "core/errors.h"
#include "core/packed_weights.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void check(const EncoderDecoder& model, const Padded<Tokens>& sources,
           const DecodingOptions& options) {
  require(sources.values.shape.size() == 2, "decoding: sources of ", sources.values.shape,
          ", expected [B, S]");
  require_complete("decoding", "the sources", sources.values);
  int64_t V = model.config.target_vocab_size;
  for (auto [name, token] : {std::pair{"begin", options.begin}, {"end", options.end}})
    require(0 <= token && token < V, "decoding: ", name, " ", token, ", expected 0 to ", V - 1);
  Within{"decoding"}(range::zero_or_more, "max_length", options.max_length);
  // A target's begin is fed to the model, its end is not.
  require(options.max_length < model.longest_target(), "decoding: max_length ", options.max_length,
          ", but a target has at most ", model.longest_target(), " tokens with its begin");
}

/// Returns log softmax of the logits.
std::vector<double> log_probabilities(std::span<const Scalar> logits) {
  double greatest = -std::numeric_limits<double>::infinity(), total = 0;
  for (Scalar x : logits) {
    require(std::isfinite(x), "decoding: a logit is ", x, ", expected finite ones");
    greatest = std::max(greatest, static_cast<double>(x));
  }
  for (Scalar x : logits) total += std::exp(static_cast<double>(x) - greatest);
  double log_total = greatest + std::log(total);
  std::vector<double> result(logits.size());
  for (size_t v = 0; v < result.size(); ++v) result[v] = static_cast<double>(logits[v]) - log_total;
  return result;
}

/// The row that a target continues, among those of its source, and its next token.
struct NextToken {
  int64_t row;
  int32_t token;
};

/// Returns the logits after a row of a source.
using RowLogits = std::function<std::span<const Scalar>(int64_t row)>;

/// Writes targets token by token, `width` rows for each source. `choose(b, logits, last)` returns
/// the next tokens of source b's rows, or none once its targets have ended, which they must after
/// `last`. A source without targets leaves the batch.
void decode(
    const EncoderDecoder& model, const Padded<Tokens>& sources, const DecodingOptions& options,
    int64_t width,
    const std::function<std::vector<NextToken>(size_t b, const RowLogits&, bool last)>& choose) {
  Tape::Pause constant;
  PackedWeights weights;
  Context context;
  std::unique_ptr<Cache> cache = model.make_cache(model.encode(sources, context));
  std::vector<size_t> left(static_cast<size_t>(sources.values.shape[0]));
  std::iota(left.begin(), left.end(), 0);
  int64_t N = saturated_product(std::ssize(left), width);
  std::vector<int32_t> tokens;
  within_memory([&] { tokens.assign(N, options.begin); }, "decoding: ", N, " rows");  // [N]
  for (int64_t length = 0; !left.empty(); ++length) {
    Tensor logits = model.decode({{std::ssize(tokens), 1}, tokens}, *cache, context);  // [N, 1, V]
    int64_t V = logits.size(2), first = 0;
    std::vector<size_t> kept;
    std::vector<int64_t> rows, as_before(tokens.size());
    std::iota(as_before.begin(), as_before.end(), 0);
    tokens.clear();
    for (size_t source : left) {
      auto of_row = [&](int64_t row) {
        return std::span(logits.data() + (first + row) * V, static_cast<size_t>(V));
      };
      std::vector<NextToken> chosen = choose(source, of_row, length == options.max_length);
      if (!chosen.empty()) kept.push_back(source);
      for (auto [row, token] : chosen) {
        rows.push_back(first + row);
        tokens.push_back(token);
      }
      first += width;
    }
    if (!kept.empty() && rows != as_before) cache->reorder(rows);
    left = std::move(kept);
  }
}

/// A row of a beam, one token longer.
struct Continuation {
  double log_probability;
  NextToken next;
};

/// A candidate for the next beam, whose next token is the end if it has ended.
struct Candidate {
  double score;
  Hypothesis hypothesis;
  NextToken next;
};

/// The hypotheses for one source.
struct Beam {
  BeamOptions options;
  int64_t max_length;
  std::vector<Hypothesis> rows{{}};  // in progress, one for each row of the batch
  std::vector<Hypothesis> done{};    // best first

  /// Makes one step. Of the hypotheses that have ended and of all continuations, those in progress
  /// among the best `width` go on. The last step only ends hypotheses. Returns how the rows go on,
  /// none if all hypotheses have ended. A row without a hypothesis continues the first.
  std::vector<NextToken> step(const RowLogits& logits, int32_t end, bool last) {
    std::vector<Candidate> candidates;
    for (Hypothesis& ended : done)
      candidates.push_back({options.score(ended), std::move(ended), {0, end}});
    for (const auto& [log_probability, next] : continuations(logits, end, last)) {
      Hypothesis longer{rows[next.row].tokens, log_probability};
      double score =
          next.token == end ? options.score(longer) : options.best_score(longer, max_length);
      if (next.token != end) longer.tokens.push_back(next.token);
      candidates.push_back({score, std::move(longer), next});
    }
    std::ranges::stable_sort(candidates, std::greater(), &Candidate::score);

    std::vector<NextToken> going_on;
    done.clear();
    rows.clear();
    int64_t better = 0;
    for (auto& [score, hypothesis, next] : candidates) {
      bool ended = next.token == end, among_best = better++ < options.width;
      if (ended && std::ssize(done) < options.width) done.push_back(std::move(hypothesis));
      if (ended || !among_best) continue;
      going_on.push_back(next);
      rows.push_back(std::move(hypothesis));
    }
    if (!going_on.empty()) going_on.resize(options.width, {0, end});
    return going_on;
  }

  /// Returns at most `width` of the likeliest continuations, the likeliest first.
  std::vector<Continuation> continuations(const RowLogits& logits, int32_t end, bool last) const {
    std::vector<Continuation> all;
    for (int64_t row = 0; row < std::ssize(rows); ++row) {
      std::vector<double> log_p = log_probabilities(logits(row));
      for (int32_t token = 0; token < std::ssize(log_p); ++token)
        if (!last || token == end)
          all.push_back({rows[row].log_probability + log_p[token], {row, token}});
    }
    int64_t count = std::min<int64_t>(std::ssize(all), options.width);
    auto place = [](const Continuation& one) {
      return std::tuple(-one.log_probability, one.next.row, one.next.token);
    };
    std::partial_sort(all.begin(), all.begin() + count, all.end(),
                      [&](const auto& a, const auto& b) { return place(a) < place(b); });
    all.resize(count);
    return all;
  }
};

}  // namespace

double BeamOptions::score(const Hypothesis& hypothesis) const {
  return best_score(hypothesis, std::ssize(hypothesis.tokens));
}

double BeamOptions::best_score(const Hypothesis& beginning, int64_t max_length) const {
  auto length = static_cast<double>(max_length) + 1;
  return beginning.log_probability / std::pow((5 + length) / 6, length_penalty);
}

std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model,
                                                 const Padded<Tokens>& sources,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam) {
  check(model, sources, options);
  Within within{"beam_search"};
  within(range::one_or_more, "width", beam.width);
  within(range::rate, "length_penalty", beam.length_penalty);
  std::vector<Beam> beams(static_cast<size_t>(sources.values.shape[0]),
                          Beam{beam, options.max_length});
  auto search = [&] {
    decode(model, sources, options, beam.width, [&](size_t b, const RowLogits& logits, bool last) {
      return beams[b].step(logits, options.end, last);
    });
  };
  within_memory(search, "beam_search: width ", beam.width);
  std::vector<std::vector<Hypothesis>> results;
  for (Beam& own : beams) results.push_back(std::move(own.done));
  return results;
}

std::vector<Hypothesis> sample_targets(const EncoderDecoder& model, const Padded<Tokens>& sources,
                                       const DecodingOptions& options, const Sampling& sampling,
                                       uint64_t seed, uint64_t first_stream) {
  check(model, sources, options);
  check(sampling);
  std::vector<Hypothesis> results(static_cast<size_t>(sources.values.shape[0]), {{options.begin}});
  std::vector<Random> random;
  for (size_t b = 0; b < results.size(); ++b) random.push_back({seed, first_stream + b});
  decode(model, sources, options, 1,
         [&](size_t b, const RowLogits& logits, bool last) -> std::vector<NextToken> {
           auto& [text, log_probability] = results[b];
           int32_t token = last ? options.end : sample(logits(0), sampling, random[b], text);
           log_probability += log_probabilities(logits(0))[token];
           if (token == options.end) return {};
           text.push_back(token);
           return {{0, token}};
         });
  for (Hypothesis& result : results) result.tokens.erase(result.tokens.begin());
  return results;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
