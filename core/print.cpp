#include "core/print.h"

#include <algorithm>
#include <iomanip>
#include <string>
#include <vector>

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Calls number(value) for each element of what lies at `layout` from `first` on that is printed,
/// and text(…) for what stands between them.
void visit(const Scalar* first, const Layout& layout, int depth, auto number, auto text) {
  constexpr int64_t edge = 3;
  if (layout.rank() == 0)
    return number(shiftgrad::text(std::setprecision(4), first[layout.offset]));
  int64_t size = layout.shape[0];
  std::string between(layout.rank() == 1 ? "" : "\n");
  between.append(layout.rank() == 1 ? 1 : static_cast<size_t>(depth) + 1, ' ');
  text("[");
  for (int64_t n = 0; n < size; ++n) {
    if (n > 0) text(between);
    if (n == edge && size > 2 * edge) {
      text("…");
      text(between);
      n = size - edge;
    }
    visit(first, layout.select(0, n), depth + 1, number, text);
  }
  text("]");
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x.defined()) return out << "Tensor, undefined";
  out << "Tensor " << x.shape() << (sizeof(Scalar) == sizeof(float) ? " float" : " double") << '\n';
  const Scalar* first = x.data() - x.layout().offset;
  size_t width = 0;
  auto widen = [&](const std::string& number) { width = std::max(width, number.size()); };
  visit(first, x.layout(), 0, widen, [](const std::string&) {});
  auto print = [&](const std::string& number) {
    out << std::setw(static_cast<int>(width)) << number;
  };
  visit(first, x.layout(), 0, print, [&](const std::string& text) { out << text; });
  return out;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
