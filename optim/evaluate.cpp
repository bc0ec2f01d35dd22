#include "optim/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <numbers>
#include <sstream>
#include <vector>

#include "core/checked.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/loss.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Feeds pieces of a text to a model and adds up the losses. A piece is B rows of tokens; row b
/// begins at begins[b].
class Scorer {
 public:
  /// Prepares to score the text. `losses` may be null, and `progress` empty.
  Scorer(const SequenceModel& model, std::span<const int32_t> text, std::vector<double>* losses,
         const std::function<void(int64_t, int64_t)>& progress)
      : model_(model), text_(text), losses_(losses), progress_(progress) {
    if (losses_) losses_->assign(text.size() - 1, 0);
  }

  /// The number of tokens that have one before them.
  int64_t predictable() const { return static_cast<int64_t>(text_.size()) - 1; }

  /// Feeds rows, which come after what the state has seen, and counts the losses of the tokens that
  /// follow the last `counted` tokens of each row. Without a state, the rows have no past.
  void feed(const std::vector<int64_t>& begins, int64_t length, int64_t counted,
            State* state = nullptr) {
    Tokens tokens = rows(begins, length);
    count(state ? model_(tokens, *state, context_) : model_(tokens, Memory(), context_).logits,
          begins, counted);
  }

  double nats = 0;
  int64_t tokens = 0;

 private:
  Tokens rows(const std::vector<int64_t>& begins, int64_t length) const {
    Tokens cut{{static_cast<int64_t>(begins.size()), length}, {}};
    for (int64_t begin : begins)
      cut.values.insert(cut.values.end(), text_.begin() + begin, text_.begin() + begin + length);
    return cut;
  }

  void count(const Tensor& logits, const std::vector<int64_t>& begins, int64_t counted) {
    int64_t T = logits.size(1), skipped = T - counted;
    std::vector<int64_t> first_targets;
    for (int64_t begin : begins) first_targets.push_back(begin + skipped + 1);
    std::vector<double> found =
        token_losses(slice(logits, 1, skipped, T), rows(first_targets, counted));
    for (double loss : found) nats += loss;
    if (losses_) note(found, first_targets, counted);
    tokens += static_cast<int64_t>(begins.size()) * counted;
    if (progress_) progress_(tokens, predictable());
  }

  /// Stores each loss at the position of its token.
  void note(const std::vector<double>& found, const std::vector<int64_t>& first_targets,
            int64_t counted) {
    auto row = found.begin();
    for (int64_t first : first_targets) {
      std::copy(row, row + counted, losses_->begin() + (first - 1));
      row += counted;
    }
  }

  const SequenceModel& model_;
  std::span<const int32_t> text_;
  std::vector<double>* losses_;
  const std::function<void(int64_t, int64_t)>& progress_;
  Context context_;
};

/// Feeds rows of equal length, at most batch_size at once. Row n begins at first + n · step.
void feed_rows(Scorer& scorer, int64_t first, int64_t step, const Rows& rows, int64_t length,
               int64_t counted, int64_t batch_size) {
  std::vector<int64_t> begins;
  for (int64_t n = rows.begin; n < rows.end; ++n) {
    begins.push_back(first + n * step);
    if (static_cast<int64_t>(begins.size()) < batch_size && n + 1 < rows.end) continue;
    scorer.feed(begins, length, counted);
    begins.clear();
  }
}

bool is_last(const Peers& peers) { return peers.rank() + 1 == peers.size(); }

void evaluate_chunks(Scorer& scorer, const EvaluationConfig& config, const Peers& peers) {
  int64_t T = config.tgt_len, end = scorer.predictable(), rest = end % T;
  feed_rows(scorer, 0, T, own_rows(peers, end / T), T, T, config.batch_size);
  if (rest > 0 && is_last(peers)) scorer.feed({end - rest}, rest, rest);
}

void evaluate_sliding(Scorer& scorer, const EvaluationConfig& config, const Peers& peers) {
  int64_t end = scorer.predictable(), T = std::min(config.tgt_len, end);
  // The first tokens have fewer than T tokens before them.
  if (peers.rank() == 0) scorer.feed({0}, T, T);
  feed_rows(scorer, 1, 1, own_rows(peers, end - T), T, 1, config.batch_size);
}

/// Whether each segment is fed without any past. A state would keep nothing of it but the
/// positions, which soon would be greater than any that were trained.
bool starts_anew(const EvaluationConfig& config, const SequenceModel& model) {
  return config.mem_len == 0 && model.traits().absolute_positions;
}

/// Predicts the tokens that follow the tokens begin … end-1 of each stream, counted from its start.
/// Without a state, each segment starts anew.
void read_streams(Scorer& scorer, const EvaluationConfig& config,
                  const std::vector<int64_t>& streams, int64_t begin, int64_t end, State* state) {
  for (int64_t length = 0; begin < end; begin += length) {
    length = std::min(config.tgt_len, end - begin);
    int64_t again = std::min(config.ext_len, begin);
    std::vector<int64_t> begins;
    for (int64_t stream : streams) begins.push_back(stream + begin - again);
    scorer.feed(begins, again + length, length, state);
    if (state) state->forget_newest(std::min(config.ext_len, again + length));
  }
}

void evaluate_with_memory(Scorer& scorer, const SequenceModel& model,
                          const EvaluationConfig& config, const Peers& peers) {
  int64_t B = config.batch_size, length = scorer.predictable() / B;
  Rows own = own_rows(peers, B);
  if (own.count() == 0) return;
  std::vector<int64_t> streams;
  for (int64_t b = own.begin; b < own.end; ++b) streams.push_back(b * length);
  // Tokens that are fed again are not memory for the segment that they are fed with.
  std::unique_ptr<State> state =
      starts_anew(config, model) ? nullptr : model.start(config.mem_len + config.ext_len);
  read_streams(scorer, config, streams, 0, length, state.get());
  if (own.end < B) return;
  // The last stream continues to the end of the text.
  if (state) state->reorder({own.count() - 1});
  read_streams(scorer, config, {streams.back()}, length, scorer.predictable() - streams.back(),
               state.get());
}

}  // namespace

void EvaluationConfig::check(const SequenceModel& model, int64_t tokens) const {
  AtLeast at_least{"evaluate"};
  at_least(1, "tgt_len", tgt_len);
  at_least(0, "mem_len", mem_len);
  at_least(0, "ext_len", ext_len);
  at_least(1, "batch_size", batch_size);
  require(tokens >= 2, "evaluate: a text of ", tokens, " tokens, expected at least 2");
  require(mode != EvaluationMode::memory || tokens > batch_size, "evaluate: ", tokens,
          " tokens are too few for ", batch_size, " streams");
  bool streams = mode == EvaluationMode::memory && !starts_anew(*this, model);
  int64_t fed_again = mode == EvaluationMode::memory ? ext_len : 0;
  int64_t in_a_row = streams ? tokens - 1 - (batch_size - 1) * ((tokens - 1) / batch_size)
                             : std::min(fed_again + tgt_len, tokens - 1);
  int64_t most = streams ? model.longest() : model.most_keys();
  require(in_a_row <= most, "evaluate: mode ", mode, " feeds ", in_a_row,
          " tokens in a row, but the model has ", most, " positions");
  int64_t keys = std::min(in_a_row, mem_len + ext_len + tgt_len);
  require(!streams || keys <= model.most_keys(), "evaluate: a memory of ", mem_len, " and ",
          tgt_len, " tokens make ", keys, " keys, but the model has ", model.most_keys(),
          " positions");
}

Evaluation evaluate(const SequenceModel& model, std::span<const int32_t> text,
                    const EvaluationConfig& config, std::vector<double>* losses, Peers& peers) {
  config.check(model, static_cast<int64_t>(text.size()));
  Tape::Pause no_gradients;
  auto start = std::chrono::steady_clock::now();
  Scorer scorer(model, text, losses, config.progress);
  if (config.mode == EvaluationMode::memory)
    evaluate_with_memory(scorer, model, config, peers);
  else if (config.mode == EvaluationMode::chunks)
    evaluate_chunks(scorer, config, peers);
  else
    evaluate_sliding(scorer, config, peers);
  std::vector<double> total = sums(peers, {scorer.nats, static_cast<double>(scorer.tokens)});
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return {total[0] / total[1], static_cast<int64_t>(total[1]), passed.count()};
}

double Evaluation::bits() const { return nats / std::numbers::ln2; }

double Evaluation::perplexity() const { return std::exp(nats); }

std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation) {
  // The stream keeps its own precision.
  std::ostringstream line;
  line << std::setprecision(4) << evaluation.bits() << " bits per token, perplexity "
       << evaluation.perplexity() << ", over " << evaluation.tokens << " tokens";
  return out << line.str();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
