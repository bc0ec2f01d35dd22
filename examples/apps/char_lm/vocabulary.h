#pragma once

#include <string>

#include "nn/models/vocabulary.h"

namespace char_lm {

using Unit = shiftgrad::TextUnit;
using shiftgrad::Vocabulary;

/// Returns the unit that --vocab `bytes`, `all_bytes` or `characters` names. Throws for any other
/// name.
Unit unit_of(const std::string& vocab);

}  // namespace char_lm
