#include "vocabulary.h"

#include "core/errors.h"

namespace char_lm {

Unit unit_of(const std::string& vocab) {
  if (vocab == "bytes" || vocab == "all_bytes") return Unit::byte;
  if (vocab == "characters") return Unit::character;
  shiftgrad::fail("--vocab ", vocab, ", expected bytes, all_bytes or characters");
}

}  // namespace char_lm
