#pragma once

#include <vector>

#include "nn/module.h"
#include "optim/peers/process_group.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Sums the gradients of parameters over all peers while the backward pass is still running (Li et
/// al. 2020, "PyTorch distributed", section 3.2). Parameters are put into buckets from the last to
/// the first, roughly the order in which their gradients become final. The buckets are sent in that
/// order. It is the same for all peers, and so are the bits. With one peer this does nothing.
class GradientReducer {
 public:
  /// Puts the parameters into buckets.
  GradientReducer(ProcessGroup& peers, std::vector<Parameter> parameters);

  /// Begins the sums of the buckets whose gradients are final. It stops at the first bucket with a
  /// gradient that is not, because a live tape has recorded its parameter.
  void start();
  /// Begins the remaining sums, and waits until every gradient is its sum. Returns the seconds
  /// spent waiting.
  double finish();

 private:
  /// Number of scalars in a bucket. A small bucket costs as much time as its messages take to
  /// arrive; a large one begins late.
  static constexpr int64_t bucket_size = int64_t{1} << 18;

  void start_next();

  ProcessGroup& peers_;
  std::vector<std::vector<Parameter>> buckets_;
  size_t started_ = 0;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
