// Someone else's program: the product of two matrices and the gradient of its sum.
#include <iostream>

#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/ops/matmul.h"
#include "shiftgrad/ops/reduce.h"

int main() {
  using namespace shiftgrad;
  initialize();
  Tensor a = Tensor::full({2, 3}, 1).require_gradient();
  Tensor b = Tensor::full({3, 4}, 2).require_gradient();
  Tape tape;
  tape.backward(sum(matmul(a, b)));
  std::cout << sizeof(Scalar) << ' ' << a.gradient().values()[0] << '\n';
}
