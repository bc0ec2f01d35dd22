#pragma once

#include <memory>

#include "optim/peers.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// The processes that mpirun started with this one, in a build with MPI; else nobody. To be called
/// once, and to live until the end of main.
std::unique_ptr<Peers> launched_peers();

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
