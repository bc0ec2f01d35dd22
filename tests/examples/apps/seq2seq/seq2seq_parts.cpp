// Tests of the parts of seq2seq other than its models.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fstream>
#include <set>
#include <thread>

#include "examples/apps/seq2seq/dates.h"
#include "examples/apps/seq2seq/lines.h"
#include "examples/apps/seq2seq/rows.h"
#include "examples/apps/seq2seq/scores.h"
#include "examples/apps/seq2seq/symbols.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace seq2seq;

namespace {

using Words = std::vector<std::string>;

Words words(const std::string& line) { return split(line, Unit::word); }

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
  return text;
}

}  // namespace

TEST_CASE("edit_distance: insertions, deletions and substitutions") {
  auto distance = [](const std::string& a, const std::string& b) {
    return edit_distance(split(a, Unit::character), split(b, Unit::character));
  };
  CHECK(distance("kitten", "sitting") == 3);
  CHECK(distance("", "abc") == 3);
  CHECK(distance("abc", "") == 3);
  CHECK(distance("same", "same") == 0);
  CHECK(distance("ab", "ba") == 2);
  CHECK(distance("intention", "execution") == 5);
}

TEST_CASE("scores: the nearest of several references counts") {
  Scores scores;
  scores.add(words("a b c"), {words("x y"), words("a b c")});
  CHECK(scores.wrong == 0);
  scores.add(words("a b"), {words("a x y z"), words("a c")});
  CHECK(scores.sources == 2);
  CHECK(scores.wrong == 1);
  CHECK(scores.edits == 1);
  CHECK(scores.symbols == 5);
  CHECK(scores.sequence_error_rate() == 0.5);
  CHECK(scores.token_error_rate() == 0.2);
  CHECK(refusal([&] { scores.add({}, {}); }) == "scores: no reference");
}

TEST_CASE("symbols: characters of UTF-8, or words") {
  CHECK(split("aé€😀", Unit::character) == Words{"a", "é", "€", "😀"});
  CHECK(split(" two  words ", Unit::word) == Words{"two", "words"});
  CHECK(join({"two", "words"}, Unit::word) == "two words");
  Symbols known = Symbols::of({"ba", "äa"}, Unit::character, 2);
  CHECK(known.known() == Words{"a", "b", "ä"});
  CHECK(known.tokens() == 5);
  CHECK(known.encode("äba").tokens == std::vector<int32_t>{4, 3, 2});
  CHECK(known.encode("axb").unknown == "x");
  CHECK(known.decode({4, 0, 3, 1, 2}) == "äba");
  CHECK(known.encode("äba", 2).tokens == std::vector<int32_t>{4, 3});
  CHECK(known.encode("äba", 2).count == 3);
  CHECK(refusal([] { unit_named("source_tokens", "bytes"); }) ==
        "--source_tokens bytes, expected characters or words");
}

TEST_CASE("utf8_error: names the first byte that is not UTF-8") {
  for (const char* good : {"", "a", "é", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    CHECK_FALSE(utf8_error(good));
  // A single byte, overlong forms, a surrogate, a code point beyond U+10FFFF, and cut characters.
  for (const char* bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xE2\x28\xA1", "\xFF"})
    CHECK(utf8_error(bad) == "byte 1 is not UTF-8");
  CHECK(utf8_error("ab\xFF") == "byte 3 is not UTF-8");
}

TEST_CASE("rows: a bad row is reported with its line, or skipped") {
  TemporaryFolder folder;
  std::string path = folder.file("pairs.tsv");
  auto refused = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return refusal([&] { read_rows(path, BadRows::refuse); });
  };
  CHECK(refused("a\tb\nc\n") == path + ": line 2: 0 tabs, expected a source, one tab and a target");
  CHECK(refused("a\tb\tc\n") == path + ": line 1: 2 tabs, expected a source, one tab and a target");
  CHECK(refused("\tb\n") == path + ": line 1: nothing before the tab");
  CHECK(refused("a\t\r\n") == path + ": line 1: nothing after the tab");
  CHECK(refused("a\t\xFF\n") == path + ": line 1: byte 3 is not UTF-8");
  CHECK(refused("") == path + ": no rows");
  CHECK(refusal([&] { read_rows(folder.file("none"), BadRows::refuse); }) ==
        folder.file("none") + ": No such file or directory");

  std::ofstream(path, std::ios::binary) << "\xEF\xBB\xBF"
                                        << "a\tb\r\nbad\nc d\te";
  std::vector<Row> rows = read_rows(path, BadRows::skip);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].source == "a");
  CHECK(rows[0].target == "b");
  CHECK(rows[1].source == "c d");
  CHECK(rows[1].line == 3);
}

TEST_CASE("written dates mean what their ISO form says, and each day comes once") {
  std::vector<Row> rows = written_dates(5000);
  REQUIRE(rows.size() == 5000);
  std::set<std::string> days, sources;
  for (const Row& row : rows) {
    CAPTURE(row.source);
    CAPTURE(row.target);
    days.insert(row.target);
    sources.insert(row.source);
    // This is the C library's calendar, not the one that made the dates.
    std::tm date{};
    REQUIRE(strptime(row.target.c_str(), "%Y-%m-%d", &date));
    timegm(&date);
    char month[16], weekday[16], year[8];
    std::strftime(month, sizeof month, "%b", &date);
    std::strftime(weekday, sizeof weekday, "%a", &date);
    std::strftime(year, sizeof year, "%Y", &date);
    std::string text = lower(row.source);
    bool words = std::ranges::any_of(text, [](char c) { return std::isalpha(c); });
    CHECK(text.find(std::to_string(date.tm_mday)) != std::string::npos);
    if (words) CHECK(text.find(lower(month)) != std::string::npos);
    if (!words) CHECK(text.starts_with(year));
    bool full = text.find(year) != std::string::npos;
    if (!full) CHECK(text.find("'" + std::string(year + 2)) != std::string::npos);
    for (const char* day : {"sun", "mon", "tue", "wed", "thu", "fri", "sat"})
      if (text.starts_with(day)) CHECK(day == lower(weekday));
  }
  CHECK(days.size() == 5000);
  CHECK(sources.size() > 4990);
  CHECK(written_dates(10)[9].source == rows[9].source);
}

// Each kind of form that draws more than one of its parts is here.
TEST_CASE("written dates are the same from every compiler") {
  std::vector<Row> rows = written_dates(23);
  CHECK(rows[0].source == "OCTOBER 1, 2024");
  CHECK(rows[7].source == "20th OCT 1931");
  CHECK(rows[8].source == "2078 December 09");
  CHECK(rows[15].source == "mon, 26 January 1903");
  CHECK(rows[16].source == "31st-March-2082");
  CHECK(rows[22].source == "the 1st of FEB '79");
}

TEST_CASE("lines: next waits for one line, and takes others that have arrived") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  auto write = [&](const std::string& text) {
    CHECK(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  Lines lines(ends[0]);
  write("one\ntwo\r\nthr");
  CHECK(lines.next(10) == Words{"one", "two"});
  std::thread later([&] {
    write("ee\n\nfi");
    write("ve");
    ::close(ends[1]);
  });
  Words rest;
  for (Words next = lines.next(2); !next.empty(); next = lines.next(2)) {
    CHECK(next.size() <= 2);
    rest.insert(rest.end(), next.begin(), next.end());
  }
  later.join();
  CHECK(rest == Words{"three", "", "five"});
  ::close(ends[0]);
}

TEST_CASE("lines: a byte order mark is dropped, wherever a read cuts it") {
  std::string text = "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n";
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([&] {
    for (char byte : text) CHECK(::write(ends[1], &byte, 1) == 1);
    ::close(ends[1]);
  });
  Lines lines(ends[0]);
  CHECK(lines.next(1) == Words{"one"});
  CHECK(lines.next(1) == Words{"\xEF\xBB\xBFtwo"});
  CHECK(lines.next(1).empty());
  writer.join();
  ::close(ends[0]);
}

TEST_CASE("lines: one long line and many short ones take time in proportion to their bytes") {
  TemporaryFolder folder;
  std::string path = folder.file("lines");
  write_text(path, "");
  std::filesystem::resize_file(path, 100'000'000);  // of zeros
  std::ofstream(path, std::ios::app) << std::string(1'000'001, '\n');
  int file = ::open(path.c_str(), O_RDONLY);
  REQUIRE(file >= 0);
  Lines lines(file);
  const std::clock_t start = std::clock();
  CHECK(lines.next(1).at(0).size() == 100'000'000);
  size_t empty = 0;
  for (Words next = lines.next(100); !next.empty(); next = lines.next(100)) empty += next.size();
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;  // of the CPU
  CHECK(empty == 1'000'000);
  // Less than a second; 17 where each piece is searched from the line's start.
  CHECK(seconds < 8);
  ::close(file);
}
