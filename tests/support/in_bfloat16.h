#pragma once

#include "core/machine/precision.h"

namespace shiftgrad {

/// Rounds the operands of products while it lives.
struct InBfloat16 {
  InBfloat16() { set_product_precision(Precision::bfloat16); }
  ~InBfloat16() { set_product_precision(Precision::float32); }
};

}  // namespace shiftgrad
