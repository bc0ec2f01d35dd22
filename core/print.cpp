#include "core/print.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr int64_t edge = 3;
constexpr int64_t left_out = -1;

/// Returns the indices along an axis that are printed, with `left_out` in place of the others.
std::vector<int64_t> printed_indices(int64_t size) {
  std::vector<int64_t> indices;
  for (int64_t n = 0; n < size; ++n) {
    if (n < edge || n >= size - edge)
      indices.push_back(n);
    else if (n == edge)
      indices.push_back(left_out);
  }
  return indices;
}

std::string printed(Scalar value) {
  std::ostringstream out;
  out << std::setprecision(4) << value;
  return out.str();
}

/// The length of the longest number that is printed of what lies at `layout` from `first` on.
size_t widest(const Scalar* first, const Layout& layout) {
  if (layout.rank() == 0) return printed(first[layout.offset]).size();
  size_t width = 0;
  for (int64_t n : printed_indices(layout.shape[0]))
    if (n != left_out) width = std::max(width, widest(first, layout.select(0, n)));
  return width;
}

void print(std::ostream& out, const Scalar* first, const Layout& layout, int width, int depth) {
  if (layout.rank() == 0) {
    out << std::setw(width) << printed(first[layout.offset]);
    return;
  }
  std::string between =
      layout.rank() == 1 ? " " : std::string("\n").append(static_cast<size_t>(depth) + 1, ' ');
  out << '[';
  bool begun = false;
  for (int64_t n : printed_indices(layout.shape[0])) {
    if (begun) out << between;
    begun = true;
    if (n == left_out)
      out << "…";
    else
      print(out, first, layout.select(0, n), width, depth + 1);
  }
  out << ']';
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x.defined()) return out << "Tensor, undefined";
  out << "Tensor " << x.shape() << (sizeof(Scalar) == sizeof(float) ? " float" : " double") << '\n';
  const Scalar* first = x.data() - x.layout().offset;
  print(out, first, x.layout(), static_cast<int>(widest(first, x.layout())), 0);
  return out;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
