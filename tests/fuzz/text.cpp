// libFuzzer's target for what users write: texts, rows of a source, a tab and a target, and lines
// on standard input. They are read as what they are, or refused in one line.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/errors.h"
#include "examples/apps/char_lm/vocabulary.h"
#include "examples/apps/draw/utf8.h"
#include "examples/apps/seq2seq/lines.h"
#include "examples/apps/seq2seq/rows.h"
#include "examples/apps/seq2seq/symbols.h"
#include "tests/fuzz/checkpoint_seeds.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

using fuzz::expect;

namespace {

bool is_utf8(const std::string& text) { return !seq2seq::utf8_error(text); }

/// The lines without their ends, \n or \r\n, which the last one may lack, and without a byte order
/// mark before the first.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string& line = lines.emplace_back(text, begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    begin = end + 1;
  }
  return lines;
}

/// A text that is made of such units is the same after it was made tokens and these characters.
void check_vocabulary(const std::string& text, char_lm::Unit unit) {
  char_lm::Vocabulary vocabulary(unit);
  try {
    vocabulary.add(text, "text");
  } catch (const shiftgrad::Error& error) {
    expect(unit == char_lm::Unit::character && !is_utf8(text), error.what());
    return;
  }
  expect(unit == char_lm::Unit::byte || is_utf8(text), "a text that is not UTF-8 to be refused");
  std::string decoded;
  for (int32_t token : vocabulary.encode(text, "text")) decoded += vocabulary.decode(token);
  expect(decoded == text, "the text from its tokens");
}

/// Characters are shown whole, whatever the pieces that they come in.
void check_pieces(const std::string& text) {
  apps::WholeCharacters shown;
  std::string all;
  for (char byte : text) {
    std::string piece = shown.add({&byte, 1});
    expect(!is_utf8(text) || is_utf8(piece), "whole characters");
    all += piece;
  }
  expect(all + shown.rest() == text, "all of the text");
}

void check_lines(const std::string& text) {
  int descriptor = ::open("text", O_RDONLY);
  seq2seq::Lines input(descriptor);
  std::vector<std::string> all;
  for (size_t most = 1;; most = most % 3 + 1) {
    std::vector<std::string> some = input.next(most);
    if (some.empty()) break;
    expect(some.size() <= most, "no more lines than were asked for");
    all.insert(all.end(), some.begin(), some.end());
  }
  ::close(descriptor);
  expect(all == lines_of(text), "the lines of standard input");
}

/// A line of characters is the same after it was cut into them; one of words has lost spaces only.
void check_symbols(const std::string& line) {
  using seq2seq::Unit;
  expect(join(split(line, Unit::character), Unit::character) == line, "a line from its characters");
  std::string words = join(split(line, Unit::word), Unit::word), dense = line;
  std::erase(words, ' ');
  std::erase(dense, ' ');
  expect(words == dense, "a line from its words");
}

bool is_row(const std::string& line) {
  return std::ranges::count(line, '\t') == 1 && !line.starts_with('\t') && !line.ends_with('\t') &&
         is_utf8(line);
}

/// All rows are read, or the first that is none is named.
void check_rows(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  auto wrong = std::ranges::find_if_not(lines, is_row);
  try {
    std::vector<seq2seq::Row> rows = seq2seq::read_rows("text", seq2seq::BadRows::refuse);
    expect(wrong == lines.end() && rows.size() == lines.size(), "lines that are no rows refused");
    for (size_t n = 0; n < rows.size(); ++n) {
      expect(rows[n].source + '\t' + rows[n].target == lines[n], "the source and the target");
      check_symbols(rows[n].source);
    }
  } catch (const shiftgrad::Error& error) {
    std::string_view said = error.what();
    std::string place = shiftgrad::text("text: line ", wrong - lines.begin() + 1, ": ");
    expect(lines.empty() ? said == "text: no rows" : said.starts_with(place), said);
  }
}

/// What the programs make of the text in each of the places where they take one.
void run_programs(const std::string& text) {
  using fuzz::run;
  run("char_lm", {"eval", "char_lm", "--data=text", "--eval_split=0.5", "--threads=1"});
  run("char_lm", {"generate", "char_lm", "--prompt_file=text", "--length=2", "--threads=1"});
  run("seq2seq", {"eval", "seq2seq", "--data=text", "--max_length=3", "--beam=1", "--threads=1"});
  run("seq2seq", {"eval", "seq2seq", "--data=text", "--skip_bad_rows", "--max_length=3", "--beam=1",
                  "--threads=1"});
  fuzz::Outcome translated =
      run("seq2seq", {"translate", "seq2seq", "--skip_bad_rows", "--max_length=3", "--threads=1"},
          text);
  expect(translated.status == 0 && lines_of(translated.output).size() == lines_of(text).size(),
         "a line for each line");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::start_in_empty_folder();
  std::filesystem::create_directory("char_lm");
  std::filesystem::create_directory("seq2seq");
  fuzz::Choices choices(1);
  write_text("char_lm/best.safetensors", fuzz::language_model_seed(choices));
  write_text("seq2seq/best.safetensors", fuzz::encoder_decoder_seed(choices));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  write_text("text", text);
  check_vocabulary(text, char_lm::Unit::byte);
  check_vocabulary(text, char_lm::Unit::character);
  check_pieces(text);
  check_lines(text);
  check_rows(text);
  run_programs(text);
  return 0;
}

/// Puts in or doubles what texts are made of, rightly or not; half of the changes are libFuzzer's.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned seed) {
  static const std::vector<std::string> pieces = {"\t",
                                                  "\n",
                                                  "\r\n",
                                                  "\r",
                                                  " ",
                                                  "  ",
                                                  "ab",
                                                  "a\tb\n",
                                                  "ba\tab\n",
                                                  std::string(1, '\0'),
                                                  "\xEF\xBB\xBF",
                                                  "\xC3\xA9",
                                                  "\xE2\x82\xAC",
                                                  "\xF0\x9F\x98\x80",
                                                  "\xF4\x8F\xBF\xBF",
                                                  "\xC0\x80",
                                                  "\xED\xA0\x80",
                                                  "\xF4\x90\x80\x80",
                                                  "\xE2\x82",
                                                  "\x80",
                                                  "\xFF",
                                                  "\x1B[2J",
                                                  "\xC2\x9B",
                                                  "\xE2\x80\xAE",
                                                  std::string(100, 'a')};
  std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::Choices choices(seed);
  if (choices.once_in(2)) return LLVMFuzzerMutate(data, size, longest);
  for (size_t changes = 1 + choices.below(3); changes > 0; --changes)
    text.insert(choices.below(text.size() + 1), choices.of(pieces));
  if (choices.once_in(8)) text += text;
  return fuzz::put(text, data, longest);
}
