#include "core/print.h"

#include <doctest/doctest.h>

#include <numeric>
#include <sstream>
#include <vector>

#include "core/errors.h"
#include "ops/shape.h"
#include "tests/support/counting.h"
#include "tests/support/foreign_locale.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

const std::string precision = sizeof(Scalar) == 4 ? "float" : "double";

}  // namespace

TEST_CASE("a tensor prints its shape, precision and values") {
  CHECK(text(Tensor()) == "Tensor, undefined");
  CHECK(text(Tensor::full({}, Scalar(2.5))) == "Tensor [] " + precision + "\n2.5");
  CHECK(text(Tensor::zeros({0})) == "Tensor [0] " + precision + "\n[]");
  CHECK(text(Tensor::zeros({2, 0})) == "Tensor [2, 0] " + precision + "\n[[]\n []]");
  CHECK(text(counting({2, 3})) == "Tensor [2, 3] " + precision + "\n[[0 1 2]\n [3 4 5]]");
  std::vector<Scalar> hard = {not_a_number, -infinity, Scalar(1) / 3, -12345678};
  CHECK(text(Tensor::from({4}, hard)) ==
        "Tensor [4] " + precision + "\n[       nan       -inf     0.3333 -1.235e+07]");
}

TEST_CASE("a view prints what it shows") {
  CHECK(text(transpose(counting({2, 3}))) ==
        "Tensor [3, 2] " + precision + "\n[[0 3]\n [1 4]\n [2 5]]");
  CHECK(text(expand(slice(counting({4}), 0, 3, 4), {2, 2})) ==
        "Tensor [2, 2] " + precision + "\n[[3 3]\n [3 3]]");
}

TEST_CASE("long axes are cut in the middle") {
  CHECK(text(counting({6})) == "Tensor [6] " + precision + "\n[0 1 2 3 4 5]");
  CHECK(text(counting({7})) == "Tensor [7] " + precision + "\n[0 1 2 … 4 5 6]");
  CHECK(text(counting({7, 1, 2})) == "Tensor [7, 1, 2] " + precision +
                                         "\n[[[ 0  1]]\n [[ 2  3]]\n [[ 4  5]]\n …\n [[ 8  9]]\n"
                                         " [[10 11]]\n [[12 13]]]");
}

TEST_CASE("a tensor looks the same on a stream of any locale") {
  std::ostringstream out;
  out.imbue(ForeignLocale::foreign());
  out << Tensor::from({2, 1}, {Scalar(1000), Scalar(12.5)});
  CHECK(out.str() == "Tensor [2, 1] " + precision + "\n[[1000]\n [12.5]]");
}
