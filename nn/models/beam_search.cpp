#include "nn/models/beam_search.h"

#include <algorithm>
#include <cmath>
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

/// Targets in progress for several sources, with `width` rows for each source still in the batch.
class Batch {
 public:
  Batch(const EncoderDecoder& model, const PaddedTokens& sources, const DecodingOptions& options,
        int64_t width)
      : model_(model), state_(model.start(model.encode(sources, context_))) {
    sources_.resize(static_cast<size_t>(sources.tokens.shape[0]));
    std::iota(sources_.begin(), sources_.end(), 0);
    next_.assign(sources_.size() * static_cast<size_t>(width), options.begin);
  }

  /// The sources whose targets are in progress. The n-th source has the rows n width … n width +
  /// width-1.
  const std::vector<int64_t>& sources() const { return sources_; }

  /// Feeds each row its next token. `logits(n)` then returns row n's logits.
  void feed() {
    logits_ = model_.decode({{std::ssize(next_), 1}, next_}, state_, context_);  // [N, 1, V]
  }

  std::span<const Scalar> logits(int64_t row) const {
    auto V = static_cast<size_t>(logits_.size(2));
    return {logits_.data() + static_cast<size_t>(row) * V, V};
  }

  /// Makes row n continue from what was row rows[n], with tokens[n]. Only these sources stay, each
  /// with `width` rows; each is an index into `sources()`.
  void go_on(const std::vector<int64_t>& kept, const std::vector<int64_t>& rows,
             std::vector<int32_t> tokens) {
    bool same = rows.size() == next_.size() && std::ranges::is_sorted(rows) &&
                std::ranges::adjacent_find(rows) == rows.end();
    if (kept.size() < sources_.size()) {
      std::vector<int64_t> left;
      for (int64_t n : kept) left.push_back(sources_[static_cast<size_t>(n)]);
      sources_ = std::move(left);
      if (!sources_.empty()) state_.keep(kept, rows);
    } else if (!same) {
      state_.reorder(rows);
    }
    next_ = std::move(tokens);
  }

 private:
  const EncoderDecoder& model_;
  PackedWeights weights_{};
  Context context_{};
  DecoderState state_;
  std::vector<int64_t> sources_;
  std::vector<int32_t> next_;  // [N]
  Tensor logits_;
};

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

  /// The hypotheses in progress. Rows without one, such as all but the first at the start, are
  /// impossible.
  const std::vector<Hypothesis>& rows() const { return rows_; }
  std::vector<Hypothesis> done() && { return std::move(done_); }
  bool is_over() const { return rows_.front().log_probability == impossible; }

  /// Makes one step from the logits that begin at row `first` of the batch. Keeps the best `width`
  /// of the hypotheses that have ended and of all continuations. Returns the row that each row
  /// continues, which is the first if there is no hypothesis.
  std::vector<int64_t> step(const Batch& batch, int64_t first, int32_t end) {
    std::vector<Entry> entries;
    for (Hypothesis& done : done_) entries.push_back({options_.score(done), std::move(done), {}});
    for (const auto& [log_probability, row, token] : continuations(batch, first)) {
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

    std::vector<int64_t> parents;
    size_t width = rows_.size();
    done_.clear();
    rows_.clear();
    for (auto& [score, hypothesis, parent] : entries) {
      (parent ? rows_ : done_).push_back(std::move(hypothesis));
      if (parent) parents.push_back(*parent);
    }
    rows_.resize(width, {{end}, impossible});
    parents.resize(width, 0);
    return parents;
  }

  /// Ends all hypotheses in progress.
  void end_all(const Batch& batch, int64_t first, int32_t end) {
    for (size_t n = 0; n < rows_.size(); ++n) {
      if (rows_[n].log_probability == impossible) continue;
      auto row = first + static_cast<int64_t>(n);
      double log_p = log_probabilities(batch.logits(row))[static_cast<size_t>(end)];
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
  std::vector<Candidate> continuations(const Batch& batch, int64_t first) const {
    std::vector<Candidate> all;
    for (size_t n = 0; n < rows_.size(); ++n) {
      if (rows_[n].log_probability == impossible) continue;
      auto row = static_cast<int64_t>(n);
      std::vector<double> log_p = log_probabilities(batch.logits(first + row));
      for (size_t v = 0; v < log_p.size(); ++v)
        all.push_back({rows_[n].log_probability + log_p[v], row, static_cast<int32_t>(v)});
    }
    size_t count = std::min(rows_.size(), all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(count), all.end());
    all.resize(count);
    return all;
  }

  BeamOptions options_;
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
  Tape::Pause constant;
  Batch batch(model, sources, options, beam.width);
  std::vector<Beam> beams(batch.sources().size(), Beam(beam));
  for (int64_t length = 0; !batch.sources().empty(); ++length) {
    batch.feed();
    std::vector<int64_t> kept, rows;
    std::vector<int32_t> tokens;
    for (int64_t n = 0; n < std::ssize(batch.sources()); ++n) {
      Beam& own = beams[static_cast<size_t>(batch.sources()[static_cast<size_t>(n)])];
      int64_t first = n * beam.width;
      if (length == options.max_length) {
        own.end_all(batch, first, options.end);
        continue;
      }
      std::vector<int64_t> parents = own.step(batch, first, options.end);
      if (own.is_over()) continue;
      kept.push_back(n);
      for (int64_t parent : parents) rows.push_back(first + parent);
      for (const Hypothesis& row : own.rows()) tokens.push_back(row.tokens.back());
    }
    batch.go_on(kept, rows, std::move(tokens));
  }
  std::vector<std::vector<Hypothesis>> results;
  for (Beam& own : beams) results.push_back(std::move(own).done());
  return results;
}

std::vector<Hypothesis> sample_targets(const EncoderDecoder& model, const PaddedTokens& sources,
                                       const DecodingOptions& options, const Sampling& sampling,
                                       uint64_t seed, uint64_t first_stream) {
  check(model, options);
  check(sampling);
  Tape::Pause constant;
  Batch batch(model, sources, options, 1);
  std::vector<Hypothesis> results(batch.sources().size());
  std::vector<Random> random(results.size());
  std::vector<std::vector<int32_t>> texts(results.size(), {options.begin});
  for (size_t b = 0; b < results.size(); ++b) random[b] = {seed, first_stream + b};
  for (int64_t length = 0; !batch.sources().empty(); ++length) {
    batch.feed();
    std::vector<int64_t> kept;
    std::vector<int32_t> tokens;
    for (int64_t n = 0; n < std::ssize(batch.sources()); ++n) {
      auto b = static_cast<size_t>(batch.sources()[static_cast<size_t>(n)]);
      std::span<const Scalar> logits = batch.logits(n);
      int32_t token = length == options.max_length ? options.end
                                                   : sample(logits, sampling, random[b], texts[b]);
      results[b].log_probability += log_probabilities(logits)[static_cast<size_t>(token)];
      if (token == options.end) continue;
      results[b].tokens.push_back(token);
      texts[b].push_back(token);
      kept.push_back(n);
      tokens.push_back(token);
    }
    batch.go_on(kept, kept, std::move(tokens));
  }
  return results;
}

std::vector<Hypothesis> greedy_targets(const EncoderDecoder& model, const PaddedTokens& sources,
                                       const DecodingOptions& options) {
  return sample_targets(model, sources, options, {.temperature = 0});
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
