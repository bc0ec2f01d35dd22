#include "examples/apps/draw/printable.h"

#include "examples/apps/draw/utf8.h"
#include "tests/support/refusal.h"

using namespace apps;

TEST_CASE("printable: text in any language stays as it is") {
  CHECK(printable("", 10).empty());
  CHECK(printable("runs/a b\"c", 100) == "runs/a b\"c");
  CHECK(printable("Grüße 10 € 😀", 100) == "Grüße 10 € 😀");
}

TEST_CASE("printable: control characters are escaped") {
  CHECK(printable("a\x1B[2J\x7F\n", 100) == "a\\x1B[2J\\x7F\\x0A");
  CHECK(printable(std::string("\0", 1), 100) == "\\x00");
  // C1, as a character and as a byte that is not UTF-8.
  CHECK(printable("\xC2\x9B", 100) == "\\xC2\\x9B");
  CHECK(printable("\x9B", 100) == "\\x9B");
  CHECK(printable("\xE2\x82", 100) == "\\xE2\\x82");
}

TEST_CASE("printable: the middle of a long text is left out, between characters") {
  CHECK(printable("0123456789", 10) == "0123456789");
  CHECK(printable("0123456789x", 10) == "01234...6789x");
  CHECK(printable("ééééé", 6) == "é...é");
  CHECK(printable(std::string(5000000, 'a'), 4000).size() == 4003);
}

TEST_CASE("printable: code points without a shape are shown as bytes") {
  CHECK(printable("") == "");
  CHECK(printable("aé€😀 \\`\"") == "aé€😀 \\`\"");
  CHECK(printable("\x1B[31m\t\r\n\x7F") == "\\x1B[31m\\x09\\x0D\\x0A\\x7F");
  CHECK(printable(std::string("\0a", 2)) == "\\x00a");
  // Control characters of two bytes, single bytes, and code points that Unicode keeps free.
  CHECK(printable("\xC2\x9B") == "\\xC2\\x9B");
  CHECK(printable("\xFF\xE2\x82") == "\\xFF\\xE2\\x82");
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");
  CHECK(printable("\xEF\xBF\xBE\xEF\xB7\x90") == "\\xEF\\xBF\\xBE\\xEF\\xB7\\x90");
  CHECK(printable("\xC2\xA0\xEF\xBF\xBD") == "\xC2\xA0\xEF\xBF\xBD");
}

TEST_CASE("printable: what turns or breaks the text around it is shown as bytes") {
  // A name that ends in "txt.exe" must not be read as "exe.txt".
  CHECK(printable("a\u202Etxt.exe") == "a\\xE2\\x80\\xAEtxt.exe");
  for (int32_t code : {0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2060, 0x2066,
                       0x2069, 0xFEFF, 0xFFF9, 0xE0001, 0xE007F})
    CHECK(printable(to_utf8(code)).starts_with("\\x"));
  // Joiners are parts of words, and a family is one emoji.
  CHECK(printable("می\u200Cخواهم 👨\u200D👩\u200D👧") == "می\u200Cخواهم 👨\u200D👩\u200D👧");
  CHECK(printable("שלום") == "שלום");
}

TEST_CASE("printable_lines: lines and tabs stay") {
  CHECK(printable_lines("a\tb\n\r\x1B\u202E\n") == "a\tb\n\\x0D\\x1B\\xE2\\x80\\xAE\n");
}

TEST_CASE("printable_lines: CR LF ends a line, and a CR alone is a control character") {
  CHECK(printable_lines("a\r\n\r\nb") == "a\n\nb");
  CHECK(printable_lines("a\rb\r\r\n\r") == "a\\x0Db\\x0D\n\\x0D");
  CHECK(printable("a\r\n") == "a\\x0D\\x0A");
}
