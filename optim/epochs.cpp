#include "optim/epochs.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "core/checked.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

std::vector<int64_t> numbers(int64_t count) {
  std::vector<int64_t> result;
  within_memory([&] { result.resize(count); }, "epochs: ", count, " items");
  std::iota(result.begin(), result.end(), 0);
  return result;
}

void check(int64_t items, int64_t least, int64_t batch_size) {
  require(items >= least, "epochs: ", items, " items, expected at least ", least);
  Within{"epochs"}(range::one_or_more, "batch_size", batch_size);
}

/// Shuffles; every order is equally likely (Fisher and Yates 1938, in the form of Durstenfeld
/// 1964).
template <class Value>
void shuffle(std::vector<Value>& values, Random& random) {
  for (int64_t n = std::ssize(values) - 1; n > 0; --n)
    std::swap(values[n], values[random.below(n + 1)]);
}

/// Appends the items in batches of `size`, sorted first if there is something to sort them by.
void add_batches(std::span<int64_t> items, int64_t size, const Epochs::Shorter& shorter,
                 std::vector<std::vector<int64_t>>& batches) {
  if (shorter) std::ranges::stable_sort(items, shorter);
  for (; !items.empty(); items = items.subspan(batches.back().size())) {
    auto batch = items.first(std::min(static_cast<size_t>(size), items.size()));
    batches.emplace_back(batch.begin(), batch.end());
  }
}

}  // namespace

Epochs::Epochs(int64_t items, int64_t batch_size, uint64_t seed, Shorter shorter)
    : items_(items), batch_size_(batch_size), seed_(seed), shorter_(std::move(shorter)) {
  check(items, 1, batch_size);
  begin_epoch(0);
}

void Epochs::begin_epoch(int64_t epoch) {
  Random random{.seed = seed_, .stream = static_cast<uint64_t>(epoch)};
  std::vector<int64_t> members = numbers(items_);
  shuffle(members, random);
  order_.clear();
  int64_t together = saturated_product(batches_sorted_together, batch_size_);
  for (std::span<int64_t> rest = members; !rest.empty();) {
    auto sorted = rest.first(std::min(static_cast<size_t>(together), rest.size()));
    add_batches(sorted, batch_size_, shorter_, order_);
    rest = rest.subspan(sorted.size());
  }
  shuffle(order_, random);
  epoch_ = epoch;
  position_ = 0;
}

std::vector<int64_t> Epochs::next() {
  if (position_ == batches()) begin_epoch(epoch_ + 1);
  return order_[position_++];
}

void Epochs::go_to(int64_t epoch, int64_t position) {
  Within{"epochs"}(range::steps, "epoch", epoch);
  require(0 <= position && position <= batches(), "epochs: batch ", position,
          " of an epoch, expected 0 to ", batches());
  begin_epoch(epoch);
  position_ = position;
}

void Epochs::visit(SavedState& saved, const std::string& name) {
  int64_t epoch = epoch_, position = position_;
  saved(name, epoch, position);
  if (saved.reads()) go_to(epoch, position);
}

std::vector<std::vector<int64_t>> batches_by_length(int64_t items, int64_t batch_size,
                                                    const Epochs::Shorter& shorter) {
  check(items, 0, batch_size);
  std::vector<std::vector<int64_t>> batches;
  std::vector<int64_t> all = numbers(items);
  add_batches(all, batch_size, shorter, batches);
  return batches;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
