#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/errors.h"
#include "nn/module.h"
#include "nn/parameter_budget.h"

namespace apps {

/// Returns lines about the threads that this process uses by default, and its memory, with the
/// machine's limits and those of its cgroup.
std::string machine_text();

/// Throws the error of a model whose weights are at least so many, which no memory here holds.
[[noreturn]] void refuse_weights(int64_t values);

/// Returns what make(budget) makes for a count of its parameters, which get no values. Throws where
/// not even those fit into the memory that this process may have.
template <class Make>
auto without_values(Make make) {
  shiftgrad::ParameterBudget budget;
  const int64_t room = budget.room;
  try {
    return make(budget);
  } catch (const shiftgrad::OutOfMemory&) {
    refuse_weights(room - budget.room);
  }
}

/// Throws unless the least that a training needs at one time fits into the memory of this machine
/// or of its cgroup: the weights of all parameters; of those that learn `moments` numbers for each
/// of theirs, and besides either the gradients or `activations`, the values that a step keeps for
/// its backward pass.
void require_memory(const std::vector<shiftgrad::Parameter>& all,
                    const std::vector<shiftgrad::Parameter>& learning, int moments,
                    double activations);

}  // namespace apps
