#include "beam_steps.h"

#include <algorithm>
#include <functional>

#include "core/tape.h"
#include "ops/shape.h"
#include "ops/softmax.h"

namespace book {

namespace {

using Candidates = std::vector<BeamCandidate>;

/// Returns log P of each token after a target that has been begun.
std::vector<Scalar> next_tokens(const EncoderDecoder& model, const Encoded& source,
                                std::vector<int32_t> target, int32_t begin) {
  target.insert(target.begin(), begin);
  auto n = std::ssize(target);
  Context context;
  Tensor logits = model.decode(Padded<Tokens>{{{1, n}, target}}, source, context);  // [1, n, V]
  return log_softmax(slice(logits, 1, n - 1, n), 2).values();
}

/// How many continuations are shown beyond those that a beam has room for.
constexpr int64_t shown_beyond = 2;

/// Returns the likeliest continuations of the targets that have not ended, a few more than `width`.
/// All of a step have one length, so none beyond the first `width` can be kept.
Candidates continuations(const EncoderDecoder& model, const Encoded& source,
                         const Candidates& before, const DecodingOptions& options, int64_t width) {
  Candidates all;
  for (const auto& [hypothesis, score, ended, kept] : before) {
    if (ended) continue;
    bool last = std::ssize(hypothesis.tokens) == options.max_length;
    std::vector<Scalar> log_p = next_tokens(model, source, hypothesis.tokens, options.begin);
    for (int32_t token = 0; token < std::ssize(log_p); ++token) {
      if (last && token != options.end) continue;
      all.push_back({hypothesis, 0, token == options.end, false});
      all.back().hypothesis.log_probability += static_cast<double>(log_p[token]);
      if (token != options.end) all.back().hypothesis.tokens.push_back(token);
    }
  }
  std::ranges::stable_sort(all, std::greater(),
                           [](const BeamCandidate& one) { return one.hypothesis.log_probability; });
  all.resize(std::min<int64_t>(std::ssize(all), width + shown_beyond));
  return all;
}

}  // namespace

std::vector<Candidates> beam_steps(const EncoderDecoder& model, const std::vector<int32_t>& source,
                                   const DecodingOptions& options, const BeamOptions& beam) {
  Tape::Pause constant;
  Context context;
  Encoded encoded = model.encode(pad({source}), context);
  std::vector<Candidates> steps;
  Candidates kept{{}};
  auto in_progress = [](const BeamCandidate& one) { return !one.ended; };
  while (std::ranges::any_of(kept, in_progress)) {
    Candidates step;
    for (const BeamCandidate& one : kept)
      if (one.ended) step.push_back(one);
    for (BeamCandidate& longer : continuations(model, encoded, kept, options, beam.width))
      step.push_back(std::move(longer));
    for (BeamCandidate& one : step) {
      // A target in progress counts as long as it would be with an end behind its last token.
      Hypothesis compared = one.hypothesis;
      if (!one.ended) compared.tokens.pop_back();
      one.score = beam.score(compared);
    }
    std::ranges::stable_sort(step, std::greater(), &BeamCandidate::score);
    kept.assign(step.begin(), step.begin() + std::min<int64_t>(std::ssize(step), beam.width));
    for (size_t n = 0; n < step.size(); ++n) step[n].kept = n < kept.size();
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace book
