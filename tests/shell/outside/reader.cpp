#include <iostream>

#include "shiftgrad/core/tensor.h"

shiftgrad::Tensor eight();

int main() { std::cout << eight().item() << '\n'; }
