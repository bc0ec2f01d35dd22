#include "nn/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "core/errors.h"
#include "core/tape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

void check(const EncoderDecoder& model, const DecodingOptions& options) {
  int64_t V = model.config.target_vocab_size;
  for (auto [name, token] : {std::pair{"begin", options.begin}, {"end", options.end}})
    require(0 <= token && token < V, "decoding: ", name, " ", token, ", expected 0 to ", V - 1);
  require(options.max_length >= 0, "decoding: max_length ", options.max_length,
          ", expected at least 0");
  // Its begin is fed, its end is not.
  require(options.max_length < model.longest_target(), "decoding: max_length ", options.max_length,
          ", but a target has at most ", model.longest_target(), " tokens with its begin");
}

/// log softmax of the logits.
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

/// Targets of several sources under way, `width` rows for each source that still is in the batch.
class Batch {
 public:
  Batch(const EncoderDecoder& model, const PaddedTokens& sources, const DecodingOptions& options,
        int64_t width)
      : model_(model), width_(width), state_(model.start(model.encode(sources, context_))) {
    sources_.resize(static_cast<size_t>(sources.tokens.shape[0]));
    std::iota(sources_.begin(), sources_.end(), 0);
    next_.assign(sources_.size() * static_cast<size_t>(width), options.begin);
  }

  /// The sources whose targets are under way: the rows of the n-th are n width … n width + width-1.
  const std::vector<int64_t>& sources() const { return sources_; }

  /// Feeds each row its next token. Row n's logits are then `logits(n)`.
  void feed() {
    logits_ = model_.decode({{std::ssize(next_), 1}, next_}, state_, context_);  // [N, 1, V]
  }

  std::span<const Scalar> logits(int64_t row) const {
    auto V = static_cast<size_t>(logits_.size(2));
    return {logits_.data() + static_cast<size_t>(row) * V, V};
  }

  /// Row n continues from what was row rows[n] with tokens[n]; only these sources go on, each the
  /// number of one in `sources()`, with `width` rows.
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

  int64_t width() const { return width_; }

 private:
  const EncoderDecoder& model_;
  Context context_{};
  int64_t width_;
  DecoderState state_;
  std::vector<int64_t> sources_;
  std::vector<int32_t> next_;  // [N]
  Tensor logits_;
};

/// A continuation of a beam's row by a token.
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
struct Beam {
  /// Under way; those that cannot be, such as all but one at the start, are impossible.
  std::vector<Hypothesis> rows;
  std::vector<Hypothesis> done;

  explicit Beam(int64_t width) : rows(static_cast<size_t>(width)) {
    for (size_t n = 1; n < rows.size(); ++n) rows[n].log_probability = impossible;
  }

  /// The likeliest `count` continuations, the likeliest first, fewer where there are not as many.
  /// The rows' logits begin at row `first` of the batch.
  std::vector<Candidate> continuations(const Batch& batch, int64_t first, size_t count) const {
    std::vector<Candidate> all;
    for (size_t n = 0; n < rows.size(); ++n) {
      if (rows[n].log_probability == impossible) continue;
      auto row = static_cast<int64_t>(n);
      std::vector<double> log_p = log_probabilities(batch.logits(first + row));
      for (size_t v = 0; v < log_p.size(); ++v)
        all.push_back({rows[n].log_probability + log_p[v], row, static_cast<int32_t>(v)});
    }
    count = std::min(count, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(count), all.end());
    all.resize(count);
    return all;
  }

  /// All rows end here.
  void end_all(const Batch& batch, int64_t first, int32_t end) {
    for (size_t n = 0; n < rows.size(); ++n) {
      if (rows[n].log_probability == impossible) continue;
      auto row = first + static_cast<int64_t>(n);
      double log_p = log_probabilities(batch.logits(row))[static_cast<size_t>(end)];
      done.push_back({rows[n].tokens, rows[n].log_probability + log_p});
    }
  }

  /// One step: what ends is done, what goes on are the rows from now on. Gives the row that each of
  /// them continues; a row that is left without a hypothesis continues the first.
  std::vector<int64_t> step(const Batch& batch, int64_t first, int32_t end) {
    // No more than `width` of twice as many can end, one for each row.
    size_t width = rows.size();
    std::vector<Hypothesis> next;
    std::vector<int64_t> parents;
    std::vector<Candidate> ranked = continuations(batch, first, 2 * width);
    for (size_t rank = 0; rank < ranked.size() && next.size() < width; ++rank) {
      const auto& [log_probability, row, token] = ranked[rank];
      Hypothesis longer{rows[static_cast<size_t>(row)].tokens, log_probability};
      if (token == end) {
        if (rank < width) done.push_back(std::move(longer));
        continue;
      }
      longer.tokens.push_back(token);
      next.push_back(std::move(longer));
      parents.push_back(row);
    }
    next.resize(width, {{end}, impossible});
    parents.resize(width, 0);
    rows = std::move(next);
    return parents;
  }

  bool is_over() const {
    return done.size() >= rows.size() || rows.front().log_probability == impossible;
  }
};

}  // namespace

double BeamOptions::score(const Hypothesis& hypothesis) const {
  auto n = static_cast<double>(hypothesis.tokens.size() + 1);
  return hypothesis.log_probability / std::pow((5 + n) / 6, length_penalty);
}

std::vector<std::vector<Hypothesis>> beam_search(const EncoderDecoder& model,
                                                 const PaddedTokens& sources,
                                                 const DecodingOptions& options,
                                                 const BeamOptions& beam) {
  check(model, options);
  require(beam.width >= 1, "beam_search: width ", beam.width, ", expected at least 1");
  require(beam.length_penalty >= 0 && std::isfinite(beam.length_penalty),
          "beam_search: length_penalty ", beam.length_penalty, ", expected at least 0");
  Tape::Pause constant;
  Batch batch(model, sources, options, beam.width);
  std::vector<Beam> beams(batch.sources().size(), Beam(beam.width));
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
      for (const Hypothesis& row : own.rows) tokens.push_back(row.tokens.back());
    }
    batch.go_on(kept, rows, std::move(tokens));
  }
  std::vector<std::vector<Hypothesis>> results;
  for (Beam& own : beams) {
    std::ranges::stable_sort(own.done, std::greater(),
                             [&](const Hypothesis& done) { return beam.score(done); });
    if (std::ssize(own.done) > beam.width) own.done.resize(static_cast<size_t>(beam.width));
    results.push_back(std::move(own.done));
  }
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

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
