#include "optim/evaluate.h"

#include <algorithm>
#include <iomanip>
#include <vector>

#include "core/errors.h"
#include "core/tape.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/batches.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Feeds pieces of a text to a model and adds up the losses. A piece is B rows of tokens; row b
/// begins at begins[b]. This peer feeds its share of them.
struct Scorer {
  const SequenceModel& model;
  const KeptText& text;
  const EvaluationConfig& config;
  std::vector<double>* losses;  // may be null
  const ProcessGroup& peers;
  double nats = 0;
  int64_t tokens = 0;
  Context context{};

  /// The number of tokens that have one before them.
  int64_t predictable() const { return text.size() - 1; }

  /// Feeds rows, which come after what the cache has seen, and counts the losses of the tokens that
  /// follow the last `counted` tokens of each row. Without a cache, the rows have no past.
  void feed(const std::vector<int64_t>& begins, int64_t length, int64_t counted,
            Cache* cache = nullptr) {
    Tokens input = rows_at(text, begins, 0, length);
    Tensor logits = cache ? model(input, *cache, context) : model(input, Memory(), context).logits;
    int64_t skipped = length - counted;
    std::vector<double> found = token_losses(slice(logits, 1, skipped, length),
                                             rows_at(text, begins, skipped + 1, length + 1));
    for (double loss : found) nats += loss;
    for (size_t n = 0; losses && n < begins.size(); ++n)
      std::copy_n(found.begin() + n * counted, counted, losses->begin() + begins[n] + skipped);
    tokens += std::ssize(found);
    if (config.progress) config.progress(tokens, predictable());
  }

  /// Feeds this peer's share of `count` rows of equal length, at most batch_size at once. Row n
  /// begins at first + n · step.
  void feed_rows(int64_t first, int64_t step, int64_t count, int64_t length, int64_t counted) {
    std::vector<int64_t> begins;
    Interval own = own_rows(peers, count);
    for (int64_t n = own.begin; n < own.end; ++n) {
      begins.push_back(first + n * step);
      if (std::ssize(begins) < config.batch_size && n + 1 < own.end) continue;
      feed(begins, length, counted);
      begins.clear();
    }
  }
};

void evaluate_chunks(Scorer& scorer) {
  int64_t T = scorer.config.tgt_len, end = scorer.predictable(), rest = end % T;
  scorer.feed_rows(0, T, end / T, T, T);
  bool is_last = scorer.peers.rank() + 1 == scorer.peers.size();
  if (rest > 0 && is_last) scorer.feed({end - rest}, rest, rest);
}

void evaluate_sliding(Scorer& scorer) {
  int64_t end = scorer.predictable(), T = std::min(scorer.config.tgt_len, end);
  // The first tokens have fewer than T tokens before them.
  if (scorer.peers.rank() == 0) scorer.feed({0}, T, T);
  scorer.feed_rows(1, 1, end - T, T, 1);
}

/// Whether each segment is fed without any past. A cache would keep nothing of it but the
/// positions, which soon would be greater than any that were trained.
bool starts_anew(const EvaluationConfig& config, const SequenceModel& model) {
  return config.mem_len == 0 && model.traits().absolute_positions;
}

/// Predicts the tokens that follow the tokens begin … end-1 of each stream, counted from its start.
/// Without a cache, each segment starts anew.
void read_streams(Scorer& scorer, const std::vector<int64_t>& streams, int64_t begin, int64_t end,
                  Cache* cache) {
  const EvaluationConfig& config = scorer.config;
  for (int64_t length = 0; begin < end; begin += length) {
    length = std::min(config.tgt_len, end - begin);
    int64_t again = std::min(config.ext_len, begin);
    std::vector<int64_t> begins;
    for (int64_t stream : streams) begins.push_back(stream + begin - again);
    scorer.feed(begins, again + length, length, cache);
    if (cache) cache->forget_newest(std::min(config.ext_len, again + length));
  }
}

void evaluate_with_memory(Scorer& scorer) {
  const EvaluationConfig& config = scorer.config;
  int64_t B = config.batch_size, length = scorer.predictable() / B;
  Interval own = own_rows(scorer.peers, B);
  if (own.size() == 0) return;
  std::vector<int64_t> streams;
  for (int64_t b = own.begin; b < own.end; ++b) streams.push_back(b * length);
  // Tokens that are fed again are not memory for the segment that they are fed with.
  std::unique_ptr<Cache> cache;
  if (!starts_anew(config, scorer.model))
    cache = scorer.model.make_cache(std::min(config.mem_len, scorer.predictable()) +
                                    std::min(config.ext_len, scorer.predictable()));
  read_streams(scorer, streams, 0, length, cache.get());
  if (own.end < B) return;
  // The last stream continues to the end of the text.
  if (cache) cache->reorder({own.size() - 1});
  read_streams(scorer, {streams.back()}, length, scorer.predictable() - streams.back(),
               cache.get());
}

}  // namespace

void EvaluationConfig::check(const SequenceModel& model, int64_t tokens) const {
  require_causal("evaluate", model);
  check_fields("evaluate", *this);
  require(tokens >= 2, "evaluate: a text of ", tokens, " tokens, expected at least 2");
  require(mode != EvaluationMode::memory || tokens > batch_size, "evaluate: ", tokens,
          " tokens are too few for ", batch_size, " streams");
  bool streams = mode == EvaluationMode::memory && !starts_anew(*this, model);
  // Lengths beyond the text's count as that, and sums of them are no wraps.
  auto in_text = [tokens](int64_t length) { return std::min(length, tokens); };
  int64_t fed_again = mode == EvaluationMode::memory ? in_text(ext_len) : 0;
  int64_t in_a_row = streams ? tokens - 1 - (batch_size - 1) * ((tokens - 1) / batch_size)
                             : std::min(fed_again + in_text(tgt_len), tokens - 1);
  int64_t most = streams ? model.limits().length : model.limits().keys;
  require(in_a_row <= most, "evaluate: mode ", mode, " feeds ", in_a_row,
          " tokens in a row, but the model has ", most, " positions");
  int64_t keys = std::min(in_a_row, in_text(mem_len) + in_text(ext_len) + in_text(tgt_len));
  require(!streams || keys <= model.limits().keys, "evaluate: mem_len ", mem_len, ", ext_len ",
          ext_len, " and tgt_len ", tgt_len, " make ", keys,
          " keys in this text, but the model has ", model.limits().keys, " positions");
}

Evaluation evaluate(const SequenceModel& model, const KeptText& text,
                    const EvaluationConfig& config, std::vector<double>* losses,
                    ProcessGroup& peers) {
  config.check(model, text.size());
  Tape::Pause no_gradients;
  Stopwatch watch;
  if (losses) losses->assign(static_cast<size_t>(text.size() - 1), 0);
  Scorer scorer{model, text, config, losses, peers};
  if (config.mode == EvaluationMode::memory)
    evaluate_with_memory(scorer);
  else if (config.mode == EvaluationMode::chunks)
    evaluate_chunks(scorer);
  else
    evaluate_sliding(scorer);
  return mean_over(peers, scorer.nats, scorer.tokens, watch);
}

Evaluation mean_over(ProcessGroup& peers, double nats, int64_t tokens, const Stopwatch& watch) {
  std::vector<double> all = sums(peers, {nats, static_cast<double>(tokens)});
  Evaluation result{all[0] / all[1], static_cast<int64_t>(all[1]), watch.seconds()};
  require(std::isfinite(result.nats), "evaluate: a mean loss of ", result.nats, " nats over ",
          result.tokens, " tokens, expected a finite one");
  return result;
}

std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation) {
  // The stream keeps its own precision.
  return out << text(std::setprecision(4), evaluation.bits(), " bits per token, perplexity ",
                     evaluation.perplexity(), ", over ", evaluation.tokens, " tokens");
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
