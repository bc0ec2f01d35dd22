#pragma once

#include <string>

#include "tests/fuzz/mutator.h"

namespace fuzz {

/// Makes the bytes of a checkpoint.
using Seed = std::string(Choices&);

/// Makes of a checkpoint one like it with a change to what its header says: a number becomes an
/// extreme, a key goes or comes, a value changes its type, a text becomes another. The file stays
/// well-formed, so that the change gets past its reader; now and then only a byte changes. What is
/// no safetensors file becomes one that `seed` makes. The parameters and the result are those of a
/// target's LLVMFuzzerCustomMutator.
size_t mutate_checkpoint(uint8_t* data, size_t size, size_t longest, Seed* seed, unsigned number);

/// The checkpoint with flags of its training that take no long time (affordable.h).
std::string affordable_checkpoint(const std::string& file);

}  // namespace fuzz
