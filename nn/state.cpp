#include "nn/state.h"

#include <algorithm>
#include <atomic>

#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void StatefulModule::refuse_recording(const Tensor& x) const {
  if (!Tape::current()) return;
  bool records = (x.defined() && x.requires_gradient()) ||
                 std::ranges::any_of(parameters(*this), [](const Parameter& parameter) {
                   return parameter.value.requires_gradient();
                 });
  require(!records, name, ": a State is for fixed weights; not for recording");
}

int64_t StatefulModule::new_identity() {
  static std::atomic<int64_t> last = 0;
  return ++last;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
