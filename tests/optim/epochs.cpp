#include "optim/epochs.h"

#include <algorithm>
#include <set>

#include "optim/peers/process_group.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

using Batches = std::vector<std::vector<int64_t>>;

/// What is left of an epoch.
Batches rest_of(Epochs& epochs) {
  Batches result;
  while (epochs.position() < epochs.batches()) result.push_back(epochs.next());
  return result;
}

Batches next_epoch(Epochs& epochs) {
  Batches result{epochs.next()};
  for (const auto& batch : rest_of(epochs)) result.push_back(batch);
  return result;
}

std::multiset<int64_t> items_in(const Batches& batches) {
  std::multiset<int64_t> all;
  for (const auto& batch : batches) all.insert(batch.begin(), batch.end());
  return all;
}

std::multiset<int64_t> all_of(int64_t items) {
  std::multiset<int64_t> all;
  for (int64_t n = 0; n < items; ++n) all.insert(n);
  return all;
}

/// A length for each item.
int64_t length_of(int64_t item) { return item * 37 % 7; }
bool is_shorter(int64_t a, int64_t b) { return length_of(a) < length_of(b); }

}  // namespace

TEST_CASE("an epoch has each item once, in another order each time") {
  for (int64_t items : {1, 7, 8, 203, 1000})
    for (int64_t batch_size : {1, 8, 1000}) {
      CAPTURE(items);
      CAPTURE(batch_size);
      Epochs epochs(items, batch_size, 3), same(items, batch_size, 3), other(items, batch_size, 4);
      Batches first = next_epoch(epochs), second = next_epoch(epochs);
      CHECK(epochs.epoch() == 1);
      CHECK(std::ssize(first) == (items + batch_size - 1) / batch_size);
      CHECK(items_in(first) == all_of(items));
      CHECK(items_in(second) == all_of(items));
      CHECK(first == next_epoch(same));
      if (items < 100) continue;
      CHECK(first != second);
      CHECK(first != next_epoch(other));
    }
}

TEST_CASE("every item may come anywhere in an epoch") {
  std::set<int64_t> first, last;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Epochs epochs(5, 1, seed);
    Batches order = next_epoch(epochs);
    first.insert(order.front()[0]);
    last.insert(order.back()[0]);
  }
  CHECK(first.size() == 5);
  CHECK(last.size() == 5);
}

TEST_CASE("with lengths, the items of a batch are of similar ones") {
  constexpr int64_t items = 203;
  Epochs epochs(items, 8, 3, is_shorter);
  for (int pass = 0; pass < 2; ++pass) {
    Batches order = next_epoch(epochs);
    CHECK(items_in(order) == all_of(items));
    size_t unlike = 0;
    for (const auto& batch : order) {
      std::set<int64_t> lengths;
      for (int64_t member : batch) lengths.insert(length_of(member));
      unlike += lengths.size() - 1;
    }
    // Sorted, the 7 lengths change 6 times, between two batches or inside one.
    CHECK(unlike <= 6);
    CHECK_FALSE(std::ranges::is_sorted(order, {}, [](auto& batch) { return length_of(batch[0]); }));
  }
}

TEST_CASE("a long epoch is sorted in runs of batches") {
  constexpr int64_t items = 3 * 2 * Epochs::batches_sorted_together;
  Epochs epochs(items, 2, 3, is_shorter);
  Batches order = next_epoch(epochs);
  CHECK(items_in(order) == all_of(items));
  // Each of the three runs may have a batch of two lengths for each change of the 7 lengths.
  auto is_mixed = [](auto& batch) { return length_of(batch[0]) != length_of(batch[1]); };
  CHECK(std::ranges::count_if(order, is_mixed) <= 3 * 6);
}

TEST_CASE("the order goes on from any place, and from what was saved") {
  Epochs epochs(50, 4, 3), later(50, 4, 3), resumed(50, 4, 3);
  for (int n = 0; n < 20; ++n) epochs.next();
  CHECK(epochs.epoch() == 1);
  CHECK(epochs.position() == 7);
  later.go_to(1, 7);
  SavedState written;
  epochs.visit(written);
  SavedState read(written.tensors);
  resumed.visit(read);
  for (int n = 0; n < 20; ++n) {
    std::vector<int64_t> batch = epochs.next();
    CHECK(batch == later.next());
    CHECK(batch == resumed.next());
  }
}

TEST_CASE("peers share each batch of an epoch without overlap") {
  struct Peer : ProcessGroup {
    explicit Peer(int64_t own) : own(own) {}
    int64_t rank() const override { return own; }
    int64_t size() const override { return 3; }
    int64_t own;
  };
  std::multiset<int64_t> seen;
  for (int64_t rank = 0; rank < 3; ++rank) {
    Epochs epochs(50, 4, 3);
    for (const auto& batch : next_epoch(epochs)) {
      Interval own = own_rows(Peer(rank), std::ssize(batch));
      seen.insert(batch.begin() + own.begin, batch.begin() + own.end);
    }
  }
  CHECK(seen == all_of(50));
}

TEST_CASE("batches by length have each item once, the short ones first") {
  Batches batches = batches_by_length(30, 4, is_shorter);
  CHECK(items_in(batches) == all_of(30));
  int64_t longest = 0;
  for (const auto& batch : batches) {
    CHECK(batch.size() <= 4);
    for (int64_t member : batch) {
      CHECK(length_of(member) >= longest);
      longest = length_of(member);
    }
  }
  CHECK(batches_by_length(0, 4, is_shorter).empty());
}

TEST_CASE("epochs: what is refused") {
  CHECK(refusal([] { Epochs(0, 1, 0); }) == "epochs: 0 items, expected at least 1");
  CHECK(refusal([] { Epochs(5, 0, 0); }) == "epochs: batch_size 0, expected at least 1");
  Epochs epochs(5, 2, 0);
  CHECK(refusal([&] { epochs.go_to(-1, 0); }) == "epochs: epoch -1, expected at least 0");
  CHECK(refusal([&] { epochs.go_to(0, 4); }) == "epochs: batch 4 of an epoch, expected 0 to 3");
}
