#include "nn/generate.h"

#include <algorithm>
#include <span>

#include "core/errors.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

/// One text under way: the model's state behind it, and as much of it as a restart needs.
class Continuation {
 public:
  Continuation(const LanguageModel& model, int64_t mem_len)
      : model_(model),
        mem_len_(mem_len),
        positions_(model.longest()),
        state_(model.start(mem_len)) {}

  /// Feeds tokens; the logits of what follows them, [V].
  Tensor feed(const std::vector<int32_t>& tokens) {
    if (positions_ == unlimited) return forward(tokens);
    text_.insert(text_.end(), tokens.begin(), tokens.end());
    if (state_.position + std::ssize(tokens) <= positions_) return forward(tokens);
    text_.erase(text_.begin(), text_.end() - std::max<int64_t>(1, positions_ / 2));
    state_ = model_.start(mem_len_);
    return forward(text_);
  }

 private:
  /// In pieces, so that a long text takes no score matrix as long on both sides, nor lets its
  /// tokens see much further than those that follow it.
  Tensor forward(std::span<const int32_t> tokens) {
    auto longest = static_cast<size_t>(std::clamp<int64_t>(mem_len_, 1, 256));
    Tensor logits;
    while (!tokens.empty()) {
      std::span piece = tokens.first(std::min(longest, tokens.size()));
      tokens = tokens.subspan(piece.size());
      Tokens batch{{1, std::ssize(piece)}, {piece.begin(), piece.end()}};
      logits = model_.forward(batch, state_, context_);  // [1, T, V]
    }
    return select(select(logits, 0, 0), 0, logits.size(1) - 1);
  }

  const LanguageModel& model_;
  int64_t mem_len_;
  int64_t positions_;
  LanguageModelState state_;
  Context context_{};
  std::vector<int32_t> text_;
};

}  // namespace

void check(const LanguageModel& model, const std::vector<int32_t>& prompt,
           const GenerateOptions& options) {
  require(options.length >= 0, "generate: length ", options.length, ", expected at least 0");
  require(options.mem_len >= 0, "generate: mem_len ", options.mem_len, ", expected at least 0");
  check(options.sampling);
  require(!prompt.empty(), "generate: an empty prompt, expected at least one token");
  for (int32_t token : prompt)
    require(0 <= token && token < model.config.vocab_size, "generate: token ", token,
            " in the prompt, expected 0 to ", model.config.vocab_size - 1);
}

std::vector<int32_t> generate(const LanguageModel& model, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options,
                              const std::function<void(int32_t)>& on_token) {
  check(model, prompt, options);
  Tape::Pause constant;
  Random random{.seed = options.seed};
  Continuation text(model, options.mem_len);
  std::vector<int32_t> made;
  while (std::ssize(made) < options.length) {
    Tensor logits = text.feed(made.empty() ? prompt : std::vector{made.back()});
    std::span row(logits.data(), static_cast<size_t>(logits.count()));
    made.push_back(sample(row, options.sampling, random));
    if (on_token) on_token(made.back());
  }
  return made;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
