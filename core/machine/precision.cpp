#include "core/machine/precision.h"

#include <atomic>

namespace shiftgrad {

namespace {
std::atomic<Precision> chosen = Precision::float32;
}

void set_product_precision(Precision precision) { chosen = precision; }

Precision product_precision() { return chosen; }

}  // namespace shiftgrad
