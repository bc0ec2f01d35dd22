#pragma once

#include <vector>

#include "shiftgrad/nn/module.h"
#include "shiftgrad/optim/peers/peers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Sums the gradients of parameters over all peers while the backward pass that makes them is still
/// under way (Li et al. 2020, "PyTorch distributed", section 3.2). The parameters are put into
/// buckets from the last to the first, about as their gradients become final, and the buckets leave
/// in that order, which is the same for all peers: so are the bits. For one peer it does nothing.
class GradientSums {
 public:
  GradientSums(Peers& peers, std::vector<Parameter> parameters);

  /// Begins the sums of the buckets whose gradients are final, up to the first where one is not: a
  /// live tape has recorded its parameter.
  void start();
  /// Begins the rest, and waits until every gradient is the sum. Returns the seconds of waiting.
  double finish();

 private:
  /// Scalars of a bucket: a sum of few costs as much time as its messages take to arrive, one of
  /// many begins late.
  static constexpr int64_t bucket_size = int64_t{1} << 18;

  void start_next();

  Peers& peers_;
  std::vector<std::vector<Parameter>> buckets_;
  size_t started_ = 0;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
