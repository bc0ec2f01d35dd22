// In place of optim/peers/mpi_peers.cpp, where there is no MPI.

#include "shiftgrad/optim/peers/launched_peers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::unique_ptr<Peers> launched_peers() { return std::make_unique<Alone>(); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
