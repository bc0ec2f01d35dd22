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

}  // namespace

TEST_CASE("a batch has begin before each target and end behind it, and no more counts") {
  std::vector<TokenPair> pairs = {{{4, 5}, {3}}, {{5}, {}}, {{4}, {2, 3}}};
  std::vector<int64_t> members = {2, 0};
  PairBatch batch = make_batch(pairs, members, {.begin = 0, .end = 1});
  CHECK(batch.source.values.values == std::vector<int32_t>{4, 0, 4, 5});
  CHECK(batch.source.mask->values == std::vector<uint8_t>{0, 1, 0, 0});
  CHECK(batch.inputs.values.values == std::vector<int32_t>{0, 2, 3, 0, 3, 0});
  CHECK_FALSE(batch.inputs.mask);
  CHECK(batch.next.values == std::vector<int32_t>{2, 3, 1, 3, 1, PairBatch::filled_up});
  CHECK(batch.tokens == 5);
}

TEST_CASE("batches by length have each pair once, the short ones first") {
  std::vector<TokenPair> pairs = some_pairs(30);
  size_t longest = 0;
  std::set<int64_t> members;
  for (const auto& batch : batches_by_length(std::ssize(pairs), 4, shorter_of(pairs))) {
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
