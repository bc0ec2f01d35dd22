#pragma once

#include <string>

#include "tests/fuzz/mutator.h"

namespace fuzz {

/// Makes the bytes of a checkpoint.
using Seed = std::string(Choices&);

/// A checkpoint like this one with a change to what its header says: a number becomes an extreme, a
/// key goes or comes, a value changes its type, a text becomes another. The file stays well-formed,
/// so that the change gets past its reader; now and then only a byte changes. What is no
/// safetensors file becomes one that `seed` makes.
std::string mutated_checkpoint(const std::string& file, size_t longest, Seed* seed,
                               Choices& choices);

/// The checkpoint with flags of its training that take no long time (affordable.h).
std::string affordable_checkpoint(const std::string& file);

}  // namespace fuzz
