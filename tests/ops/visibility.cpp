#include "ops/visibility.h"

#include <sstream>

#include "tests/support/foreign_locale.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

/// Whether query i may see key j, by the rules, the span and both masks at once.
bool sees(const Visibility& visibility, int64_t b, int64_t i, int64_t j, int64_t T, int64_t K) {
  const Interval range = visibility.range(b, i, T, K), gap = visibility.gap(i, T, K);
  const uint8_t *pads = visibility.padding_row(b), *hides = visibility.hidden_row(b, i);
  return range.contains(j) && !gap.contains(j) && !(pads && pads[j]) && !(hides && hides[j]);
}

/// The keys that each query sees, as rows of 0 and 1.
std::vector<std::string> seen(const Visibility& visibility, int64_t T, int64_t K, int64_t b = 0) {
  std::vector<std::string> rows;
  for (int64_t i = 0; i < T; ++i) {
    rows.emplace_back();
    for (int64_t j = 0; j < K; ++j) rows.back() += sees(visibility, b, i, j, T, K) ? '1' : '0';
  }
  return rows;
}

using Rows = std::vector<std::string>;

std::shared_ptr<const Mask> mask(const Dims& shape, const std::string& bits) {
  Mask result{shape, {}};
  for (char bit : bits) result.values.push_back(bit == '1');
  return std::make_shared<const Mask>(result);
}

Visibility hiding(const Dims& shape, const std::string& bits) {
  Visibility visibility;
  visibility.hidden = mask(shape, bits);
  return visibility;
}

}  // namespace

TEST_CASE("without a rule every key is seen") {
  CHECK(seen({}, 2, 3) == Rows{"111", "111"});
  CHECK_FALSE(Visibility{}.has_masks());
}

TEST_CASE("causal: the key at the query's own place and those before") {
  Visibility causal{{true}};
  CHECK(seen(causal, 3, 3) == Rows{"100", "110", "111"});
  CHECK(seen(causal, 2, 5) == Rows{"11110", "11111"});
  // Fewer keys than queries: the first queries stand before all keys.
  CHECK(seen(causal, 4, 2) == Rows{"00", "00", "10", "11"});
}

TEST_CASE("window: keys less than that far away, on both sides") {
  Visibility window{{false, 2}};
  CHECK(seen(window, 4, 4) == Rows{"1100", "1110", "0111", "0011"});
  CHECK(seen(window, 2, 5) == Rows{"00111", "00011"});
  CHECK(seen(window, 5, 2) == Rows{"00", "00", "10", "11", "11"});
  CHECK(seen({{false, 1}}, 2, 3) == Rows{"010", "001"});
  CHECK(seen({{false, 100}}, 2, 3) == Rows{"111", "111"});
}

TEST_CASE("a window as large as an integer hides nothing") {
  for (int64_t window : {INT64_MAX, INT64_MAX - 1, int64_t{1} << 62, int64_t{100}}) {
    CHECK(seen({{false, window}}, 2, 3) == Rows{"111", "111"});
    CHECK(seen({{true, window}}, 2, 3) == Rows{"110", "111"});
    CHECK(seen({{false, window}}, 5, 2) == Rows{"11", "11", "11", "11", "11"});
  }
}

TEST_CASE("causal window: the last keys up to the query's own") {
  Visibility both{{true, 2}};
  CHECK(seen(both, 4, 4) == Rows{"1000", "1100", "0110", "0011"});
  CHECK(seen(both, 2, 5) == Rows{"00110", "00011"});
}

TEST_CASE("the first keys are seen beside a window and chunks, but not in a query's future") {
  CHECK(seen({{.causal = true, .window = 2, .always = 1}}, 5, 5) ==
        Rows{"10000", "11000", "11100", "10110", "10011"});
  CHECK(seen({{.causal = false, .window = 1, .always = 2}}, 3, 4) == Rows{"1100", "1110", "1101"});
  CHECK(seen({{.causal = false, .window = 1, .always = 3}}, 4, 4) ==
        Rows{"1110", "1110", "1110", "1111"});
  CHECK(seen({{.causal = true, .chunk = Chunk{2, 0}, .always = 1}}, 4, 4) ==
        Rows{"1000", "1100", "1010", "1011"});
  CHECK(seen({{.causal = true, .always = 9}}, 2, 2) == Rows{"10", "11"});
  CHECK(seen({{.causal = true, .window = 1, .always = 1}}, 3, 1) == Rows{"0", "0", "1"});
  CHECK(Sight{.causal = false, .window = Window{2, 0}}.sees_ahead() == false);
  CHECK(Sight{.causal = false, .window = Window{2, 0}, .always = 1}.sees_ahead());
  CHECK(Sight{.window = 3, .always = 1}.farthest(100) == 100);
}

TEST_CASE("spans narrow what the rules leave, member by member") {
  auto spans = [](const Dims& shape, std::vector<int32_t> values) {
    return std::make_shared<const Tokens>(Tokens{shape, std::move(values)});
  };
  Visibility visibility{.sight = {.causal = true}};
  visibility.spans = spans({2, 3, 2}, {0, 1, 0, 2, 2, 3, 1, 3, 0, 0, 0, 3});
  visibility.check("op", 2, 3, 3);
  CHECK(seen(visibility, 3, 3, 0) == Rows{"100", "110", "001"});
  CHECK(seen(visibility, 3, 3, 1) == Rows{"000", "000", "111"});
  visibility.spans = spans({1, 1, 2}, {1, 2});
  for (int64_t b : {0, 1}) CHECK(seen(visibility, 1, 3, b) == Rows{"010"});
  visibility.sight.always = 1;  // which spans hide, too
  CHECK(seen(visibility, 1, 3) == Rows{"010"});

  auto refused = [&](const Dims& shape, const std::vector<int32_t>& values) {
    visibility.spans = spans(shape, values);
    return refusal([&] { visibility.check("op", 2, 1, 3); });
  };
  CHECK(refused({2, 1}, {0, 1}) ==
        "op: spans [2, 1], expected [2, 1, 2] (1 for the batch broadcasts)");
  CHECK(refused({1, 1, 2}, {0}) == "op: spans: 1 values for the shape [1, 1, 2]");
  const char* expected = ", expected numbers from 0 to 3, the smaller first";
  CHECK(refused({1, 1, 2}, {0, 4}) == text("op: a span of 0 to 4", expected));
  CHECK(refused({1, 1, 2}, {-1, 2}) == text("op: a span of -1 to 2", expected));
  CHECK(refused({1, 1, 2}, {2, 1}) == text("op: a span of 2 to 1", expected));
}

TEST_CASE("ranges stay within the keys") {
  for (bool causal : {false, true})
    for (int64_t width = 0; width <= 6; ++width)
      for (int64_t T = 0; T <= 5; ++T)
        for (int64_t K = 0; K <= 5; ++K)
          for (int64_t i = 0; i < T; ++i) {
            Visibility visibility{{causal}};
            if (width > 0) visibility.sight.window = width;
            auto range = visibility.range(0, i, T, K);
            for (int64_t j = 0; j < K; ++j) {
              int64_t distance = K - T + i - j, away = distance < 0 ? -distance : distance;
              bool expected = (!causal || distance >= 0) && (width == 0 || away < width);
              CHECK((range.begin <= j && j < range.end) == expected);
            }
            if (range.begin < range.end) {
              CHECK(range.begin >= 0);
              CHECK(range.end <= K);
            }
          }
}

TEST_CASE("padding hides keys of a batch member from all queries") {
  Visibility padded;
  padded.padding = mask({2, 3},
                        "001"
                        "100");
  padded.check("op", 2, 2, 3);
  CHECK(padded.has_masks());
  CHECK(seen(padded, 2, 3, 0) == Rows{"110", "110"});
  CHECK(seen(padded, 2, 3, 1) == Rows{"011", "011"});
  padded.sight.causal = true;
  CHECK(seen(padded, 2, 3, 0) == Rows{"110", "110"});
  CHECK(seen(padded, 2, 3, 1) == Rows{"010", "011"});
}

TEST_CASE("hidden masks of every shape") {
  struct Case {
    Dims shape;
    std::string bits;
    Rows first, second;
  };
  // B = 2, T = 2, K = 3.
  for (const Case& c : {
           Case{{2, 3}, "001010", {"110", "101"}, {"110", "101"}},
           Case{{1, 3}, "010", {"101", "101"}, {"101", "101"}},
           Case{{2, 2, 3}, "001010111000", {"110", "101"}, {"000", "111"}},
           Case{{1, 2, 3}, "001010", {"110", "101"}, {"110", "101"}},
           Case{{2, 1, 3}, "001100", {"110", "110"}, {"011", "011"}},
           Case{{1, 1, 3}, "100", {"011", "011"}, {"011", "011"}},
       }) {
    CAPTURE(c.shape);
    Visibility visibility = hiding(c.shape, c.bits);
    visibility.check("op", 2, 2, 3);
    CHECK(seen(visibility, 2, 3, 0) == c.first);
    CHECK(seen(visibility, 2, 3, 1) == c.second);
  }
}

TEST_CASE("masks and rules join: a key is seen when nothing hides it") {
  Visibility visibility{{true, 3},
                        mask({1, 4}, "0100"),
                        mask({4, 4},
                             "0000"
                             "0000"
                             "1000"
                             "0001")};
  visibility.check("op", 1, 4, 4);
  CHECK(seen(visibility, 4, 4) == Rows{"1000", "1000", "0010", "0010"});
}

TEST_CASE("masks that do not fit are refused by name") {
  Visibility padded;
  padded.padding = mask({2, 3}, "000000");
  CHECK(refusal([&] { padded.check("softmax", 2, 2, 4); }) ==
        "softmax: key_padding_mask [2, 3], expected [2, 4]");
  auto hidden = [](const Dims& shape) {
    return refusal([&] {
      hiding(shape, std::string(static_cast<size_t>(product(shape)), '0')).check("op", 2, 3, 4);
    });
  };
  auto expected = [](const char* shape) {
    return text("op: attention_mask ", shape,
                ", expected [3, 4] or [2, 3, 4] (1 for the batch or the queries broadcasts)");
  };
  CHECK(hidden({4}) == expected("[4]"));
  CHECK(hidden({2, 4}) == expected("[2, 4]"));
  CHECK(hidden({3, 1}) == expected("[3, 1]"));
  CHECK(hidden({3, 3, 4}) == expected("[3, 3, 4]"));
  CHECK(hidden({2, 2, 4}) == expected("[2, 2, 4]"));
  CHECK(hidden({1, 2, 3, 4}) == expected("[1, 2, 3, 4]"));

  // Fewer values than the shape says.
  Visibility cut;
  cut.padding = mask({2, 3}, "00000");
  CHECK(refusal([&] { cut.check("op", 2, 2, 3); }) ==
        "op: key_padding_mask: 5 values for the shape [2, 3]");
  CHECK(refusal([&] {
          hiding({2, 3}, "0000000").check("op", 2, 2, 3);
        }) == "op: attention_mask: 7 values for the shape [2, 3]");
}

TEST_CASE("a window of two numbers: so far to the left and to the right") {
  CHECK(seen({{false, Window{1, 2}}}, 5, 5) == Rows{"11100", "11110", "01111", "00111", "00011"});
  CHECK(seen({{false, Window{0, 1}}}, 2, 4) == Rows{"0011", "0001"});
  CHECK(seen({{false, Window{1, 0}}}, 3, 3) == seen({{true, 2}}, 3, 3));
  CHECK(seen({{true, Window{1, 2}}}, 3, 3) == Rows{"100", "110", "011"});
  CHECK(seen({{false, Window{INT64_MAX, 0}}}, 3, 3) == seen({{true}}, 3, 3));
}

TEST_CASE("chunks: the query's own and some before it, from the first position on") {
  auto chunked = [](Chunk chunk, bool causal = false, int64_t first_position = 0) {
    return Visibility{.sight = {.causal = causal, .chunk = chunk},
                      .first_position = first_position};
  };
  CHECK(seen(chunked({2, 0}), 5, 5) == Rows{"11000", "11000", "00110", "00110", "00001"});
  CHECK(seen(chunked({2, 1}), 5, 5) == Rows{"11000", "11000", "11110", "11110", "00111"});
  CHECK(seen(chunked({2, 1}, true), 5, 5) == Rows{"10000", "11000", "11100", "11110", "00111"});
  CHECK(seen(chunked({3, 0}), 2, 4) == Rows{"1110", "0001"});
  CHECK(seen(chunked({3, 0}, false, 2), 2, 4) == Rows{"0111", "0111"});
  CHECK(seen(chunked({2, 0}), 4, 2) == Rows{"00", "00", "11", "11"});
  CHECK(seen(chunked({INT64_MAX, INT64_MAX}), 2, 3) == Rows{"111", "111"});
  CHECK(seen(chunked({1, INT64_MAX}, false, 7), 2, 3) == Rows{"110", "111"});
  // A chunk of more tokens than there are here, but not than there have been.
  CHECK(seen(chunked({12, 0}, false, 9), 2, 3) == Rows{"111", "111"});
  CHECK(seen(chunked({12, 0}, false, 10), 2, 3) == Rows{"110", "001"});
}

TEST_CASE("a window or a chunk that shows nothing is refused") {
  auto message = [](const Visibility& visibility) {
    return refusal([&] { visibility.check("op", 1, 2, 2); });
  };
  CHECK(message({{false, -1}}) == "op: a window of -1, expected at least 1");
  CHECK(message({{false, 0}}) == "op: a window of 0, expected at least 1");
  CHECK(message({{false, Window{2, -1}}}) == "op: a window of [2, -1], expected at least 0");
  CHECK(message({{false, Window{-3, -1}}}) == "op: a window of [-3, -1], expected at least 0");
  CHECK(message({{false, INT64_MIN}}).find("expected at least 1") != std::string::npos);
  CHECK(message({.sight = {.chunk = Chunk{0, 1}}}) == "op: a chunk of [0, 1], expected at least 1");
  CHECK(message({.sight = {.chunk = Chunk{4, -1}}}) ==
        "op: a chunk of [4, -1], expected at least 0");
}

TEST_CASE("visibility: a rule looks the same on a stream of any locale") {
  std::ostringstream out;
  out.imbue(ForeignLocale::foreign());
  out << Window(1000) << ' ' << Window(12, 345) << ' ' << Chunk{16, 20};
  CHECK(out.str() == "1000 [12, 345] [16, 20]");
}
