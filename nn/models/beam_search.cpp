#include "nn/models/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "core/checked.h"
#include "core/errors.h"
#include "core/packed_weights.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

void check(const EncoderDecoder& model, const DecodingOptions& options) {
  int64_t V = model.config.target_vocab_size;
  for (auto [name, token] : {std::pair{"begin", options.begin}, {"end", options.end}})
    require(0 <= token && token < V, "decoding: ", name, " ", token, ", expected 0 to ", V - 1);
  require(options.max_length >= 0, "decoding: max_length ", options.max_length,
          ", expected at least 0");
  // A target's begin is fed to the model, its end is not.
  require(options.max_length < model.longest_target(), "decoding: max_length ", options.max_length,
          ", but a target has at most ", model.longest_target(), " tokens with its begin");
}

/// Returns log softmax of the logits.
std::vector<double> log_probabilities(std::span<const Scalar> logits) {
  double greatest = impossible, total = 0;
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
    const EncoderDecoder& model, const PaddedTokens& sources, const DecodingOptions& options,
    int64_t width,
    const std::function<std::vector<NextToken>(size_t b, const RowLogits&, bool last)>& choose) {
  Tape::Pause constant;
  PackedWeights weights;
  Context context;
  std::unique_ptr<State> state = model.start(model.encode(sources, context));
  std::vector<size_t> left(static_cast<size_t>(sources.tokens.shape[0]));
  std::iota(left.begin(), left.end(), 0);
  std::vector<int32_t> tokens(left.size() * static_cast<size_t>(width), options.begin);  // [N]
  for (int64_t length = 0; !left.empty(); ++length) {
    Tensor logits = model.decode({{std::ssize(tokens), 1}, tokens}, *state, context);  // [N, 1, V]
    std::vector<size_t> kept;
    std::vector<int64_t> rows;
    tokens.clear();
    for (size_t n = 0; n < left.size(); ++n) {
      int64_t first = static_cast<int64_t>(n) * width, V = logits.size(2);
      auto of_row = [&](int64_t row) {
        return std::span(logits.data() + (first + row) * V, static_cast<size_t>(V));
      };
      std::vector<NextToken> chosen = choose(left[n], of_row, length == options.max_length);
      if (!chosen.empty()) kept.push_back(left[n]);
      for (auto [row, token] : chosen) {
        rows.push_back(first + row);
        tokens.push_back(token);
      }
    }
    bool in_order =
        std::adjacent_find(rows.begin(), rows.end(), std::greater_equal()) == rows.end();
    if (!kept.empty() && !(in_order && std::ssize(rows) == logits.size(0))) state->reorder(rows);
    left = std::move(kept);
  }
}

/// A continuation of a row of a beam by one token.
struct Candidate {
  double log_probability;
  int64_t row;
  int32_t token;

  bool operator<(const Candidate& other) const {  // likelier
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return row != other.row ? row < other.row : token < other.token;
  }
};

/// The hypotheses for one source.
class Beam {
 public:
  explicit Beam(const BeamOptions& options)
      : options_(options), rows_(static_cast<size_t>(options.width)) {
    for (size_t n = 1; n < rows_.size(); ++n) rows_[n].log_probability = impossible;
  }

  std::vector<Hypothesis> done() && { return std::move(done_); }

  /// Makes one step. Keeps the best `width` of the hypotheses that have ended and of all
  /// continuations. Returns how the rows go on, none if all hypotheses have ended. A row without a
  /// hypothesis continues the first.
  std::vector<NextToken> step(const RowLogits& logits, int32_t end) {
    std::vector<Entry> entries;
    for (Hypothesis& done : done_) entries.push_back({options_.score(done), std::move(done), {}});
    for (const auto& [log_probability, row, token] : continuations(logits)) {
      Hypothesis longer{rows_[static_cast<size_t>(row)].tokens, log_probability};
      double score = options_.score(log_probability, std::ssize(longer.tokens) + 1);
      if (token == end) {
        entries.push_back({score, std::move(longer), {}});
      } else {
        longer.tokens.push_back(token);
        entries.push_back({score, std::move(longer), row});
      }
    }
    std::ranges::stable_sort(entries, std::greater(), &Entry::score);
    entries.resize(std::min(entries.size(), rows_.size()));

    std::vector<NextToken> next;
    size_t width = rows_.size();
    done_.clear();
    rows_.clear();
    for (auto& [score, hypothesis, parent] : entries) {
      if (parent) next.push_back({*parent, hypothesis.tokens.back()});
      (parent ? rows_ : done_).push_back(std::move(hypothesis));
    }
    if (next.empty()) return {};
    rows_.resize(width, {{end}, impossible});
    next.resize(width, {0, end});
    return next;
  }

  /// Ends all hypotheses in progress.
  void end_all(const RowLogits& logits, int32_t end) {
    for (size_t n = 0; n < rows_.size(); ++n) {
      if (rows_[n].log_probability == impossible) continue;
      auto row = static_cast<int64_t>(n);
      double log_p = log_probabilities(logits(row))[static_cast<size_t>(end)];
      done_.push_back({rows_[n].tokens, rows_[n].log_probability + log_p});
    }
    std::ranges::stable_sort(done_, std::greater(),
                             [&](const Hypothesis& done) { return options_.score(done); });
  }

 private:
  /// A candidate for the next beam: a hypothesis that has ended, or the continuation of a row.
  struct Entry {
    double score = 0;
    Hypothesis hypothesis{};
    std::optional<int64_t> parent{};
  };

  /// Returns at most `width` of the likeliest continuations, the likeliest first.
  std::vector<Candidate> continuations(const RowLogits& logits) const {
    std::vector<Candidate> all;
    for (size_t n = 0; n < rows_.size(); ++n) {
      if (rows_[n].log_probability == impossible) continue;
      auto row = static_cast<int64_t>(n);
      std::vector<double> log_p = log_probabilities(logits(row));
      for (size_t v = 0; v < log_p.size(); ++v)
        all.push_back({rows_[n].log_probability + log_p[v], row, static_cast<int32_t>(v)});
    }
    size_t count = std::min(rows_.size(), all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(count), all.end());
    all.resize(count);
    return all;
  }

  BeamOptions options_;
  // The hypotheses in progress. Rows without one, such as all but the first at the start, are
  // impossible.
  std::vector<Hypothesis> rows_;
  std::vector<Hypothesis> done_;  // best first
};

}  // namespace

double BeamOptions::score(double log_probability, int64_t length) const {
  return log_probability / std::pow((5 + static_cast<double>(length)) / 6, length_penalty);
}

double BeamOptions::score(const Hypothesis& hypothesis) const {
  return score(hypothesis.log_probability, std::ssize(hypothesis.tokens) + 1);
}

std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model,
                                                 const PaddedTokens& sources,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam) {
  check(model, options);
  AtLeast at_least{"beam_search"};
  at_least(1, "width", beam.width);
  at_least(0, "length_penalty", beam.length_penalty);
  std::vector<Beam> beams(static_cast<size_t>(sources.tokens.shape[0]), Beam(beam));
  decode(model, sources, options, beam.width,
         [&](size_t b, const RowLogits& logits, bool last) -> std::vector<NextToken> {
           if (!last) return beams[b].step(logits, options.end);
           beams[b].end_all(logits, options.end);
           return {};
         });
  std::vector<std::vector<Hypothesis>> results;
  for (Beam& own : beams) results.push_back(std::move(own).done());
  return results;
}

std::vector<Hypothesis> sample_targets(const EncoderDecoder& model, const PaddedTokens& sources,
                                       const DecodingOptions& options, const Sampling& sampling,
                                       uint64_t seed, uint64_t first_stream) {
  check(model, options);
  check(sampling);
  std::vector<Hypothesis> results(static_cast<size_t>(sources.tokens.shape[0]));
  std::vector<Random> random;
  for (size_t b = 0; b < results.size(); ++b) random.push_back({seed, first_stream + b});
  std::vector<std::vector<int32_t>> texts(results.size(), {options.begin});
  decode(model, sources, options, 1,
         [&](size_t b, const RowLogits& logits, bool last) -> std::vector<NextToken> {
           int32_t token = last ? options.end : sample(logits(0), sampling, random[b], texts[b]);
           results[b].log_probability += log_probabilities(logits(0))[static_cast<size_t>(token)];
           if (token == options.end) return {};
           results[b].tokens.push_back(token);
           texts[b].push_back(token);
           return {{0, token}};
         });
  return results;
}

std::vector<Hypothesis> greedy_targets(const EncoderDecoder& model, const PaddedTokens& sources,
                                       const DecodingOptions& options) {
  return sample_targets(model, sources, options, {.temperature = 0});
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
