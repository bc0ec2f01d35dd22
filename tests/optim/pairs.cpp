#include "optim/pairs.h"

#include <set>

#include "tests/support/refusal.h"
#include "tests/support/translators.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

std::vector<TokenPair> some_pairs(int64_t count) {
  auto sources = random_sequences(count, 9, 6, 151), targets = random_sequences(count, 7, 6, 152);
  std::vector<TokenPair> pairs;
  for (size_t n = 0; n < sources.size(); ++n) pairs.push_back({sources[n], targets[n]});
  return pairs;
}

/// An epoch's batches.
std::vector<std::vector<int64_t>> epoch(PairBatches& batches, int64_t pairs) {
  std::vector<std::vector<int64_t>> result;
  for (int64_t seen = 0; seen < pairs; seen += std::ssize(result.back()))
    result.push_back(batches.next());
  return result;
}

}  // namespace

TEST_CASE("a batch has begin before each target and end behind it, and no more counts") {
  std::vector<TokenPair> pairs = {{{4, 5}, {3}}, {{5}, {}}, {{4}, {2, 3}}};
  std::vector<int64_t> members = {2, 0};
  PairBatch batch = make_batch(pairs, members, {.begin = 0, .end = 1});
  CHECK(batch.source.tokens.values == std::vector<int32_t>{4, 0, 4, 5});
  CHECK(batch.source.padding->values == std::vector<uint8_t>{0, 1, 0, 0});
  CHECK(batch.inputs.tokens.values == std::vector<int32_t>{0, 2, 3, 0, 3, 0});
  CHECK_FALSE(batch.inputs.padding);
  CHECK(batch.next.values == std::vector<int32_t>{2, 3, 1, 3, 1, PairBatch::filled_up});
  CHECK(batch.tokens == 5);
}

TEST_CASE("an epoch has each pair once, in batches of similar length and another order each time") {
  constexpr int64_t count = 203;
  std::vector<TokenPair> pairs = some_pairs(count);
  PairBatches batches(pairs, 8, 3), same(pairs, 8, 3), other(pairs, 8, 4);
  auto first = epoch(batches, count), second = epoch(batches, count);
  for (const auto& order : {first, second}) {
    CHECK(order.size() == 26);
    std::multiset<int64_t> members;
    size_t unlike = 0;
    for (const auto& batch : order) {
      members.insert(batch.begin(), batch.end());
      std::set<size_t> lengths;
      for (int64_t member : batch) lengths.insert(pairs[static_cast<size_t>(member)].target.size());
      unlike += lengths.size() - 1;
    }
    CHECK(members.size() == count);
    CHECK(std::set(members.begin(), members.end()).size() == count);
    // Sorted, the 7 lengths change 6 times, between two batches or inside one.
    CHECK(unlike <= 6);
  }
  CHECK(first == epoch(same, count));
  CHECK(first != second);
  CHECK(first != epoch(other, count));
}

TEST_CASE("the order goes on from any place") {
  std::vector<TokenPair> pairs = some_pairs(50);
  PairBatches batches(pairs, 4, 3), later(pairs, 4, 3);
  for (int n = 0; n < 20; ++n) batches.next();
  CHECK(batches.epoch() == 1);
  CHECK(batches.position() == 7);
  later.go_to(1, 7);
  for (int n = 0; n < 20; ++n) CHECK(batches.next() == later.next());
}

TEST_CASE("batches by length have each pair once, the short ones first") {
  std::vector<TokenPair> pairs = some_pairs(30);
  size_t longest = 0;
  std::set<int64_t> members;
  for (const auto& batch : batches_by_length(pairs, 4)) {
    CHECK(batch.size() <= 4);
    for (int64_t member : batch) {
      size_t length = pairs[static_cast<size_t>(member)].target.size();
      CHECK(length >= longest);
      longest = length;
      members.insert(member);
    }
  }
  CHECK(members.size() == 30);
}

TEST_CASE("pairs: what is refused") {
  std::vector<TokenPair> pairs = some_pairs(5);
  CHECK(refusal([&] { PairBatches({}, 1, 0); }) == "pairs: none, expected at least 1");
  CHECK(refusal([&] { PairBatches(pairs, 0, 0); }) == "pairs: batch_size 0, expected at least 1");
  PairBatches batches(pairs, 2, 0);
  CHECK(refusal([&] { batches.go_to(-1, 0); }) == "pairs: epoch -1, expected at least 0");
  CHECK(refusal([&] { batches.go_to(0, 4); }) == "pairs: batch 4 of an epoch, expected 0 to 3");
}
