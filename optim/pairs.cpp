#include "optim/pairs.h"

#include <algorithm>
#include <numeric>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

std::vector<int64_t> numbers(size_t count) {
  std::vector<int64_t> result(count);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// Shuffles; every order is equally likely (Fisher and Yates 1938, in the form of Durstenfeld
/// 1964).
template <class Value>
void shuffle(std::vector<Value>& values, Random& random) {
  for (int64_t n = std::ssize(values) - 1; n > 0; --n)
    std::swap(values[n], values[random.below(n + 1)]);
}

/// Sorts the members by length, and appends them in batches of `size`.
void add_by_length(std::span<const TokenPair> pairs, std::span<int64_t> members, int64_t size,
                   std::vector<std::vector<int64_t>>& batches) {
  std::ranges::stable_sort(members, {}, [&](int64_t member) {
    const TokenPair& pair = pairs[member];
    return std::pair(pair.target.size(), pair.source.size());
  });
  for (; !members.empty(); members = members.subspan(batches.back().size())) {
    auto batch = members.first(std::min(static_cast<size_t>(size), members.size()));
    batches.emplace_back(batch.begin(), batch.end());
  }
}

}  // namespace

PairBatch make_batch(std::span<const TokenPair> pairs, std::span<const int64_t> members,
                     const TargetEnds& ends) {
  std::vector<std::vector<int32_t>> sources, inputs, next;
  PairBatch batch;
  for (int64_t member : members) {
    const auto& [source, target] = pairs[member];
    sources.push_back(source);
    std::vector<int32_t>& input = inputs.emplace_back(1, ends.begin);
    input.insert(input.end(), target.begin(), target.end());
    next.push_back(target);
    next.back().push_back(ends.end);
    batch.tokens += std::ssize(input);
  }
  batch.source = padded(sources);
  batch.inputs.tokens = padded(inputs).tokens;
  batch.next = padded(next, PairBatch::filled_up).tokens;
  return batch;
}

PairBatch rows(const PairBatch& batch, int64_t begin, int64_t end) {
  PairBatch part;
  part.source.tokens = rows(batch.source.tokens, begin, end);
  if (batch.source.padding)
    part.source.padding = std::make_shared<Mask>(rows(*batch.source.padding, begin, end));
  part.inputs.tokens = rows(batch.inputs.tokens, begin, end);
  part.next = rows(batch.next, begin, end);
  part.tokens =
      std::ssize(part.next.values) - std::ranges::count(part.next.values, PairBatch::filled_up);
  return part;
}

std::vector<std::vector<int64_t>> batches_by_length(std::span<const TokenPair> pairs,
                                                    int64_t batch_size) {
  std::vector<int64_t> members = numbers(pairs.size());
  std::vector<std::vector<int64_t>> batches;
  add_by_length(pairs, members, batch_size, batches);
  return batches;
}

PairBatches::PairBatches(const Kept<TokenPair>& pairs, int64_t batch_size, uint64_t seed)
    : pairs_(pairs), batch_size_(batch_size), seed_(seed) {
  require(!pairs.view().empty(), "pairs: none, expected at least 1");
  require(batch_size >= 1, "pairs: batch_size ", batch_size, ", expected at least 1");
  begin_epoch(0);
}

void PairBatches::begin_epoch(int64_t epoch) {
  Random random{.seed = seed_, .stream = static_cast<uint64_t>(epoch)};
  std::vector<int64_t> members = numbers(pairs_.view().size());
  shuffle(members, random);
  order_.clear();
  auto together = static_cast<size_t>(batches_sorted_together * batch_size_);
  for (size_t begin = 0; begin < members.size(); begin += together)
    add_by_length(pairs_,
                  std::span(members).subspan(begin, std::min(together, members.size() - begin)),
                  batch_size_, order_);
  shuffle(order_, random);
  epoch_ = epoch;
  position_ = 0;
}

std::vector<int64_t> PairBatches::next() {
  if (position_ == std::ssize(order_)) begin_epoch(epoch_ + 1);
  return order_[position_++];
}

void PairBatches::go_to(int64_t epoch, int64_t position) {
  require(epoch >= 0, "pairs: epoch ", epoch, ", expected at least 0");
  require(0 <= position && position <= std::ssize(order_), "pairs: batch ", position,
          " of an epoch, expected 0 to ", order_.size());
  begin_epoch(epoch);
  position_ = position;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
