#include "examples/apps/char_lm/vocabulary.h"

#include "tests/support/refusal.h"

TEST_CASE("--vocab: the names of units") {
  using char_lm::unit_of, shiftgrad::TextUnit;
  CHECK(unit_of("bytes") == TextUnit::byte);
  CHECK(unit_of("characters") == TextUnit::character);
  CHECK(unit_of("all_bytes") == TextUnit::byte);
  CHECK(refusal([] { unit_of("words"); }) ==
        "--vocab words, expected bytes, all_bytes or characters");
}
