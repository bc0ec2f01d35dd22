// A program may link both libraries: each part gets the code of its own precision.

namespace shiftgrad {
namespace f32 {
double third();
}
namespace f64 {
double third();
}
}  // namespace shiftgrad

int main() {
  bool right = shiftgrad::f32::third() == 1.0f / 3 && shiftgrad::f64::third() == 1.0 / 3;
  return right ? 0 : 1;
}
