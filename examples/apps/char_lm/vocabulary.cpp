#include "vocabulary.h"

#include "core/errors.h"

namespace char_lm {

Unit unit_of(const std::string& vocab) {
  try {
    return shiftgrad::text_unit_named(vocab);
  } catch (const shiftgrad::Error& error) {
    shiftgrad::fail("--", error.what());
  }
}

}  // namespace char_lm
