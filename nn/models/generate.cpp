#include "nn/models/generate.h"

#include <algorithm>
#include <span>

#include "core/checked.h"
#include "core/errors.h"
#include "core/packed_weights.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

bool ends_with(std::span<const int32_t> tokens, std::span<const int32_t> end) {
  return tokens.size() >= end.size() && std::ranges::equal(tokens.last(end.size()), end);
}

}  // namespace

void check(const SequenceModel& model, const std::vector<int32_t>& prompt,
           const GenerateOptions& options) {
  require_causal("generate", model);
  AtLeast at_least{"generate"};
  Within{"generate"}(range::zero_or_more, "length", options.length);
  at_least(0, "mem_len", options.mem_len);
  at_least(1, "positions", options.positions);
  check(options.sampling);
  require(!prompt.empty(), "generate: an empty prompt, expected at least one token");
  int64_t vocab_size = model.traits().vocab_size;
  auto known = [&](const std::vector<int32_t>& tokens, const char* place) {
    for (int32_t token : tokens)
      require(0 <= token && token < vocab_size, "generate: token ", token, " in ", place,
              ", expected 0 to ", vocab_size - 1);
  };
  known(prompt, "the prompt");
  for (const auto& stop : options.stop) {
    require(!stop.empty(), "generate: an empty stop, expected at least one token");
    known(stop, "stop");
  }
}

PrefilledPrompt::PrefilledPrompt(const SequenceModel& model, const std::vector<int32_t>& prompt,
                                 const GenerateOptions& options)
    : model_(model), options_(options), prompt_(prompt) {
  check(model, prompt, options);
  Tape::Pause constant;
  positions_ = std::min(model.limits().length, options.positions);
  cache_ = model.make_cache(options.mem_len);
  feed(prompt);
}

void PrefilledPrompt::feed(std::span<const int32_t> tokens) {
  if (positions_ < unlimited) text_.insert(text_.end(), tokens.begin(), tokens.end());
  if (fed_ + std::ssize(tokens) > positions_) {
    text_.erase(text_.begin(), text_.end() - std::max<int64_t>(1, positions_ / 2));
    cache_ = model_.make_cache(options_.mem_len);
    fed_ = 0;
    tokens = text_;
  }
  // In pieces, a long text needs no score matrix that is long on both sides, and its tokens do not
  // see much further back than those that follow it.
  const auto longest = std::clamp<int64_t>(options_.mem_len, 1, 256), most = model_.limits().keys;
  Context context;
  Tensor logits;
  while (!tokens.empty()) {
    // A piece and what the cache keeps must not be more keys than the model takes.
    const int64_t kept = std::min<int64_t>({fed_, options_.mem_len, most - 1});
    const int64_t length = std::min<int64_t>({longest, most - kept, std::ssize(tokens)});
    std::span piece = tokens.first(static_cast<size_t>(length));
    tokens = tokens.subspan(piece.size());
    fed_ += length;
    Tokens batch{{1, std::ssize(piece)}, {piece.begin(), piece.end()}};
    logits = model_(batch, *cache_, context);  // [1, T, V]
  }
  logits_ = select(select(logits, 0, 0), 0, logits.size(1) - 1);
}

std::vector<int32_t> PrefilledPrompt::generate(int64_t number,
                                               const std::function<void(int32_t)>& on_token) const {
  Tape::Pause constant;
  PackedWeights weights;
  Random random{.seed = options_.seed, .stream = static_cast<uint64_t>(number)};
  PrefilledPrompt own = *this;
  std::vector<int32_t> text = prompt_;
  auto made = [&] { return std::span(text).subspan(prompt_.size()); };
  auto stopped = [&] {
    return std::ranges::any_of(options_.stop, [&](auto& stop) { return ends_with(made(), stop); });
  };
  while (std::ssize(made()) < options_.length && !stopped()) {
    if (!made().empty()) own.feed(std::span(text).last(1));
    std::span logits(own.logits_.data(), static_cast<size_t>(own.logits_.count()));
    text.push_back(sample(logits, options_.sampling, random, text));
    if (on_token) on_token(text.back());
  }
  return {made().begin(), made().end()};
}

std::vector<int32_t> generate(const SequenceModel& model, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options,
                              const std::function<void(int32_t)>& on_token) {
  return PrefilledPrompt(model, prompt, options).generate(0, on_token);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
