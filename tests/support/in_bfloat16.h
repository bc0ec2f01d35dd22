#pragma once

#include <doctest/doctest.h>

#include "core/machine/kernel.h"
#include "core/machine/precision.h"

namespace shiftgrad {

/// Rounds the operands of products while it lives.
struct InBfloat16 {
  InBfloat16() { set_product_precision(Precision::bfloat16); }
  ~InBfloat16() { set_product_precision(Precision::float32); }
};

}  // namespace shiftgrad

namespace shiftgrad::test {

/// Calls body with products as they are, and where there are floats with rounded ones.
template <class Body>
void in_each_precision(Body body) {
  body();
#ifndef SHIFTGRAD_DOUBLE
  InBfloat16 rounded;
  body();
#endif
}

/// Runs a test with the CPU's instructions, if it has them, and by software.
template <class Test>
void by_hardware_and_software(Test test) {
  for (bool fast : {true, false}) {
    allow_fast_bfloat16_products(fast);
    if (has_fast_bfloat16_products() != fast) continue;
    CAPTURE(fast);
    test();
  }
  allow_fast_bfloat16_products(true);
}

}  // namespace shiftgrad::test
