#include "optim/batches.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

/// Token n of the text is n.
std::vector<int32_t> counting(int64_t count) {
  std::vector<int32_t> text(count);
  std::iota(text.begin(), text.end(), 0);
  return text;
}

void check_targets_follow(const Batch& batch) {
  CHECK(batch.targets.shape == batch.inputs.shape);
  REQUIRE(batch.targets.values.size() == batch.inputs.values.size());
  for (size_t n = 0; n < batch.inputs.values.size(); ++n)
    CHECK(batch.targets.values[n] == batch.inputs.values[n] + 1);
}

}  // namespace

TEST_CASE("batches: random blocks are runs of the text from everywhere in it") {
  std::vector<int32_t> text = counting(10);
  RandomBlocks blocks(text, 4, 3, Random{.seed = 5});
  std::map<int32_t, int> begins;
  for (int n = 0; n < 200; ++n) {
    Batch batch = blocks.next();
    CHECK(batch.inputs.shape == Dims{4, 3});
    CHECK(batch.starts_over);
    check_targets_follow(batch);
    for (int b = 0; b < 4; ++b) {
      int32_t begin = batch.inputs.values[3 * b];
      CHECK(batch.inputs.values[3 * b + 2] == begin + 2);
      ++begins[begin];
    }
  }
  CHECK(begins.size() == 7);
  CHECK(begins.rbegin()->first == 6);
  for (auto [begin, times] : begins) CHECK(times > 70);
}

TEST_CASE("batches: random blocks with a step begin at each of its multiples and nowhere else") {
  std::vector<int32_t> text = counting(30);
  for (int64_t length : {20, 21, 23, 24, 25}) {
    CAPTURE(length);
    RandomBlocks blocks(KeptText(text).part(0, length), 2, 4, Random{.seed = 5}, 0, 4);
    std::map<int32_t, int> begins;
    for (int n = 0; n < 200; ++n) {
      Batch batch = blocks.next();
      check_targets_follow(batch);
      for (int b = 0; b < 2; ++b) ++begins[batch.inputs.values[4 * b]];
    }
    std::map<int32_t, int> expected;  // all from which a block and its last target are there
    for (int32_t begin = 0; begin + 5 <= length; begin += 4) expected[begin] = begins[begin];
    CHECK(begins == expected);
    for (auto [begin, times] : begins) CHECK(times > 40);
  }
  CHECK(refusal([&] { RandomBlocks(text, 2, 4, {}, 0, 0); }) ==
        "RandomBlocks: step 0, expected at least 1");
}

TEST_CASE("batches: random blocks go on from their random numbers") {
  std::vector<int32_t> text = counting(100);
  RandomBlocks blocks(text, 2, 5, Random{.seed = 5});
  blocks.next();
  RandomBlocks resumed(text, 2, 5, blocks.random);
  CHECK(blocks.next().inputs.values == resumed.next().inputs.values);
  CHECK(blocks.next().inputs.values == resumed.next().inputs.values);
}

TEST_CASE("batches: streams read side by side, continue, and start over") {
  std::vector<int32_t> text = counting(13);  // two streams of 6; the 13th token is left out
  ParallelStreams streams(text, 2, 3);
  for (int pass = 0; pass < 2; ++pass) {
    Batch first = streams.next();
    CHECK(first.starts_over);
    CHECK(first.inputs.shape == Dims{2, 3});
    CHECK(first.inputs.values == std::vector<int32_t>{0, 1, 2, 6, 7, 8});
    check_targets_follow(first);
    Batch second = streams.next();
    CHECK(!second.starts_over);
    CHECK(second.inputs.shape == Dims{2, 2});
    CHECK(second.inputs.values == std::vector<int32_t>{3, 4, 9, 10});
    check_targets_follow(second);
  }
}

TEST_CASE("batches: streams feed the last tokens again, as far as there are any") {
  std::vector<int32_t> text = counting(18);  // two streams of 9
  ParallelStreams streams(text, 2, 3, 4);
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(streams.next().inputs.values == std::vector<int32_t>{0, 1, 2, 9, 10, 11});
    Batch second = streams.next(), third = streams.next();
    CHECK(second.inputs.values == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 14});
    CHECK(second.targets.values == std::vector<int32_t>{4, 5, 6, 13, 14, 15});
    CHECK(third.inputs.shape == Dims{2, 6});
    CHECK(third.inputs.values == std::vector<int32_t>{2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16});
    CHECK(third.targets.values == std::vector<int32_t>{7, 8, 16, 17});
  }
}

TEST_CASE("batches: each pass of streams has each target once") {
  std::vector<int32_t> text = counting(1000);
  for (int64_t block_size : {1, 7, 50, 199}) {
    ParallelStreams streams(text, 5, block_size);
    std::vector<int> times(1000);
    Batch batch = streams.next();
    do {
      for (int32_t target : batch.targets.values) ++times[target];
      batch = streams.next();
    } while (!batch.starts_over);
    for (int n = 0; n < 1000; ++n) CHECK(times[n] == (n % 200 == 0 ? 0 : 1));
  }
}

TEST_CASE("batches: streams go on from their position") {
  std::vector<int32_t> text = counting(100);
  ParallelStreams streams(text, 2, 5), resumed(text, 2, 5);
  for (int n = 0; n < 4; ++n) streams.next();
  resumed.position = streams.position;
  CHECK(streams.next().inputs.values == resumed.next().inputs.values);
}

TEST_CASE("batches: the shortest texts, and shorter ones") {
  std::vector<int32_t> text = counting(8);
  CHECK(RandomBlocks(text, 3, 7, {}).next().inputs.values[0] == 0);
  CHECK(ParallelStreams(text, 2, 3).next().inputs.shape == Dims{2, 3});
  CHECK(refusal([&] { RandomBlocks(text, 3, 8, {}); }) ==
        "RandomBlocks: the text has 8 tokens, too few for a block of block_size + 1 = 9; "
        "lower block_size");
  CHECK(refusal([&] { ParallelStreams(text, 2, 4); }) ==
        "ParallelStreams: the text has 8 tokens, too few for batch_size = 2 streams of "
        "block_size + 1 = 5; lower batch_size or block_size");
  CHECK(refusal([&] { RandomBlocks({}, 1, 1, {}); }) ==
        "RandomBlocks: the text has 0 tokens, too few for a block of block_size + 1 = 2; "
        "lower block_size");
  CHECK(refusal([&] { RandomBlocks(text, 0, 8, {}); }) ==
        "RandomBlocks: batch_size 0, expected at least 1");
  CHECK(refusal([&] { ParallelStreams(text, 0, 8); }) ==
        "ParallelStreams: batch_size 0, expected at least 1");
  CHECK(refusal([&] { ParallelStreams(text, 1, 0); }) ==
        "ParallelStreams: block_size 0, expected at least 1");
}

TEST_CASE("batches: a text given to keep is kept") {
  auto text = [] {
    std::vector<int32_t> numbers(40);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  };
  RandomBlocks blocks(text(), 2, 3, {});
  ParallelStreams streams(text(), 2, 3);
  std::vector<int32_t> other(40, -1);  // where the first was, if it ended
  std::vector<int32_t> tokens = blocks.next().inputs.values;
  CHECK(std::all_of(tokens.begin(), tokens.end(), [](int32_t token) { return token >= 0; }));
  CHECK(streams.next().inputs.values == std::vector{0, 1, 2, 20, 21, 22});
}

TEST_CASE("batches: rows lie within their text, and no loss is over fewer than 0 tokens") {
  std::vector<int32_t> text = {0, 1, 2, 3, 4, 5};
  CHECK(rows_at(text, {1, 3}, -1, 3).values == std::vector<int32_t>{0, 1, 2, 3, 2, 3, 4, 5});
  auto refused = [&](int64_t begin, int64_t first, int64_t end) {
    return refusal([&] { rows_at(text, {begin}, first, end); });
  };
  CHECK(refused(0, -1, 2) == "rows_at: 3 tokens from 0 + -1 of a text of 6");
  CHECK(refused(4, 0, 3) == "rows_at: 3 tokens from 4 + 0 of a text of 6");
  CHECK(refused(2, 2, 1) == "rows_at: tokens 2 to 1, expected an end behind them");
  CHECK(refusal([&] { RandomBlocks(text, 1, 2, {}, -1); }) ==
        "RandomBlocks: loss_tokens -1, expected at least 0");
  CHECK(refusal([&] { ParallelStreams(text, 1, 2, 0, -1); }) ==
        "ParallelStreams: loss_tokens -1, expected at least 0");
}
