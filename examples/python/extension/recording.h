#pragma once

// What a forward pass keeps for its backward pass: the tape, under a ticket. PyTorch saves the
// ticket, a tensor of one byte, like any tensor that the backward pass needs; when it lets go of
// the ticket, the tape goes too.

#include <functional>
#include <memory>
#include <vector>

#include "core/tape.h"
#include "place.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

class Recording {
 public:
  /// Runs `forward` under a tape. Gradients will be computed for those of `inputs` that require
  /// one.
  Recording(std::vector<Tensor> inputs, const std::function<Tensor()>& forward);

  const Tensor& output() const { return output_; }
  /// Where the call's tensors were in the forward pass. The tape reads them there again, so it is
  /// good as long as they are there.
  std::vector<Place> places;

  /// Returns the gradients of those inputs that require one, 0 where nothing flows. Once only.
  std::vector<Tensor> backward(const Tensor& gradient);

 private:
  std::vector<Tensor> inputs_;
  Tape tape_;
  Tensor output_;
};

/// Keeps a recording until it is taken or its ticket is gone. The ticket is one byte, 0.
std::shared_ptr<uint8_t> deposit(std::unique_ptr<Recording> recording);

/// Returns the recording that has a ticket at this address, and forgets it; null if there is none.
std::unique_ptr<Recording> take(const void* ticket);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
