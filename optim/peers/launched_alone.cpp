// In place of optim/mpi_peers.cpp, where there is no MPI.

#include "optim/launched_peers.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

std::unique_ptr<Peers> launched_peers() { return std::make_unique<Alone>(); }

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
