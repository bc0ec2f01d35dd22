#include "reading.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "core/tape.h"
#include "ops/loss.h"
#include "ops/shape.h"
#include "optim/batches.h"

namespace book {

Reading::Reading(const SequenceModel& model, std::vector<int32_t> text,
                 const EvaluationConfig& config)
    : model_(model), text_(std::move(text)), config_(config) {
  config_.check(model_, std::ssize(text_));
  if (config_.mode == EvaluationMode::memory) cache_ = model_.make_cache(config_.mem_len);
}

void Reading::feed(int64_t begin, int64_t length, int64_t counted, std::vector<double>& losses) {
  Tape::Pause constant;
  Context context;
  Tokens tokens = rows_at(text_, {begin}, 0, length);
  Tensor logits =
      cache_ ? model_(tokens, *cache_, context) : model_(tokens, Memory(), context).logits;
  std::vector<double> found =
      token_losses(slice(logits, 1, length - counted, length),
                   rows_at(text_, {begin}, length - counted + 1, length + 1));
  losses.insert(losses.end(), found.begin(), found.end());
  fed_ += length;
}

std::vector<double> Reading::next(int64_t count) {
  std::vector<double> losses;
  int64_t end = std::ssize(text_) - 1, T = config_.tgt_len;
  while (std::ssize(losses) < count && place_ < end) {
    bool slides = config_.mode == EvaluationMode::sliding;
    int64_t length = slides ? 1 : std::min(T, end - place_);
    int64_t begin = slides ? std::max<int64_t>(0, place_ + 1 - T) : place_;
    place_ += length;
    feed(begin, place_ - begin, length, losses);
  }
  return losses;
}

std::vector<double> losses_by_place(const SequenceModel& model, const std::vector<int32_t>& text,
                                    const EvaluationConfig& config) {
  require(config.mode != EvaluationMode::sliding, "losses_by_place: mode sliding has no segments");
  int64_t T = config.tgt_len;
  int64_t before = T + (config.mode == EvaluationMode::memory ? config.mem_len : 0);
  require(std::ssize(text) > before + T, "losses_by_place: a text of ", text.size(),
          " tokens, expected more than ", before + T);
  std::vector<double> sums(static_cast<size_t>(T)), losses;
  std::vector<int64_t> counts(sums.size());
  for (int64_t skipped = 0; skipped < T; ++skipped) {
    evaluate(model, std::span(text).subspan(skipped), config, &losses);
    for (int64_t n = before - skipped; n < std::ssize(losses); ++n) {
      sums[n % T] += losses[n];
      ++counts[n % T];
    }
  }
  for (size_t n = 0; n < sums.size(); ++n) sums[n] /= static_cast<double>(counts[n]);
  return sums;
}

}  // namespace book
