#pragma once

#include <string>

#include "tests/fuzz/mutator.h"

namespace fuzz {

/// A checkpoint like this one with a change to what its header says: a number becomes an extreme, a
/// key goes or comes, a value changes its type, a text becomes another. The file stays well-formed,
/// so that the change gets past its reader; now and then only a byte changes. What is no
/// safetensors file becomes a seed.
std::string mutated_checkpoint(const std::string& file, size_t longest, Choices& choices);

}  // namespace fuzz
