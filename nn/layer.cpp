#include "shiftgrad/nn/layer.h"

#include <algorithm>
#include <atomic>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void check_input(std::string_view layer, const Tensor& x, const Tensor& memory, int64_t C) {
  require(x.defined(), layer, ": x is undefined, expected [B, T, ", C, "]");
  require(x.rank() == 3 && x.size(2) == C, layer, ": x ", x.shape(), ", expected [B, T, ", C, "]");
  if (!memory.defined()) return;
  bool fits = memory.rank() == 3 && memory.size(0) == x.size(0) && memory.size(2) == C;
  require(fits, layer, ": memory ", memory.shape(), " for x ", x.shape(), ", expected [", x.size(0),
          ", M, ", C, "]");
}

void Layer::refuse_recording(const Tensor& x) const {
  if (!Tape::current()) return;
  bool records = x.requires_gradient() ||
                 std::ranges::any_of(parameters(*this), [](const Parameter& parameter) {
                   return parameter.value.requires_gradient();
                 });
  require(!records, name, ": a State is for fixed weights; not for recording");
}

int64_t Layer::new_identity() {
  static std::atomic<int64_t> last = 0;
  return ++last;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
