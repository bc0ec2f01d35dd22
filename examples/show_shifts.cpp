// show_shifts T K shows, stage by stage, how the shift of relative attention works: it prints what
// rel_shift (Transformer-XL) and shift_right (labml) make of a [T, K] matrix.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "ops/shape.h"
#include "ops/shift.h"

using namespace shiftgrad;

namespace {

/// Returns 1, 2, 3, … row by row. No two entries are equal, and 0 marks padding.
Tensor numbered(int64_t T, int64_t K) {
  std::vector<Scalar> values(T * K);
  std::iota(values.begin(), values.end(), Scalar{1});
  return Tensor::from({T, K}, values);
}

void print(const char* stage, const Tensor& x) {
  std::cout << stage << ' ' << x.shape() << '\n';
  std::vector<Scalar> values = x.values();
  int64_t columns = x.size(-1);
  Scalar greatest = *std::max_element(values.begin(), values.end());
  auto digits = static_cast<int>(text(greatest).size());
  for (size_t n = 0; n < values.size(); ++n)
    std::cout << "  " << std::setw(digits) << values[n]
              << ((static_cast<int64_t>(n) + 1) % columns == 0 ? "\n" : "");
}

/// Both shifts flatten a padded matrix and differ in which end they drop.
void show(const char* name, const Tensor& padded, int64_t drop_first, int64_t drop_last) {
  int64_t T = padded.size(0), K = padded.size(1) - 1, count = padded.count();
  std::cout << '\n' << name << '\n';
  print("padded with a zero column", padded);
  Tensor flat = reshape(padded, {count});
  print("flattened", flat);
  Tensor rest = slice(flat, 0, drop_first, count - drop_last);
  print(drop_first > 0 ? "the first T dropped" : "the last T dropped", rest);
  print("read in rows of K", reshape(rest, {T, K}));
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App program{
      "Show the stages of rel_shift and shift_right on a matrix of T rows and K columns."};
  int64_t T = 3, K = 3;
  program.add_option("T", T, "number of rows, one per query")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  program.add_option("K", K, "number of columns, one per key")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  CLI11_PARSE(program, count, arguments);

  Tensor x = numbered(T, K);
  print("the matrix", x);
  show("rel_shift: row i moves left by T - 1 - i; what enters on the right is for a mask to hide",
       pad_left(x), T, 0);
  show("shift_right: row i moves right by i", pad_right(x), 0, T);
}
