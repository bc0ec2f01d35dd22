#pragma once

#include <memory>

#include "shiftgrad/optim/peers/peers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The processes that mpirun started with this one, in a build with MPI; else nobody. To be called
/// once, and to live until the end of main.
std::unique_ptr<Peers> launched_peers();

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
