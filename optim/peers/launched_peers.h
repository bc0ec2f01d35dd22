#pragma once

#include <memory>

#include "optim/peers/process_group.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the processes that mpirun started together with this one. In a build without MPI there
/// are no other peers. Call it once, and keep the result until the end of main.
std::unique_ptr<ProcessGroup> launched_peers();

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
