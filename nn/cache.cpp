#include "nn/cache.h"

#include <algorithm>

#include "core/errors.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor StatefulModule::advance(Cache& cache, const Tensor& x,
                               const std::function<Tensor(Cache&)>& step) const {
  require(cache.owner == identity_, name,
          ": the cache of another module; expected one that make_cache of this module gave");
  auto trained = [](const Parameter& parameter) { return parameter.value.requires_gradient(); };
  bool records = Tape::current() && ((x.defined() && x.requires_gradient()) ||
                                     std::ranges::any_of(parameters(*this), trained));
  require(!records, name,
          ": a cache is for fixed weights, and a tape records; expected a Tape::Pause");
  return cache.update(step);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
