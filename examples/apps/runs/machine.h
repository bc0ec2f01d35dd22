#pragma once

#include <string>
#include <vector>

#include "nn/module.h"

namespace common {

/// Returns lines about the threads that this process uses by default, and its memory, with the
/// machine's limits and those of its cgroup.
std::string machine_text();

/// Throws unless the least that a training needs at one time fits into the memory of this machine
/// or of its cgroup: the weights of all parameters; of those that learn `moments` numbers for each
/// of theirs, and besides either the gradients or `activations`, the values that a step keeps for
/// its backward pass.
void require_memory(const std::vector<shiftgrad::Parameter>& all,
                    const std::vector<shiftgrad::Parameter>& learning, int moments,
                    double activations);

}  // namespace common
