#include "core/accumulate.h"

#include "core/machine/parallel.h"
#include "tests/support/arrangement.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// beta · target + alpha · source, element by element into the storage behind `target`: elements
/// on top of each other add up.
Numbers accumulated(Scalar beta, const Arranged& target, const Tensor& source, Scalar alpha) {
  Numbers result = numbers(target.leaf), added(target.leaf.shape()), values = numbers(source);
  std::vector<bool> seen(result.values.size());
  for_each_index(source.shape(), [&](const Dims& index) {
    auto at = static_cast<size_t>(position(target.view.layout(), index));
    added.values[at] += values.at(index);
    seen[at] = true;
  });
  for (size_t n = 0; n < result.values.size(); ++n)
    if (seen[n])
      result.values[n] = Bounded(static_cast<double>(beta)) * result.values[n] +
                         Bounded(static_cast<double>(alpha)) * added.values[n];
  return result;
}

const std::vector<Dims> shapes = {{},           {1},     {7},     {3, 5}, {2, 3, 4}, {1, 3, 1},
                                  {2, 3, 2, 2}, {70, 3}, {3, 70}, {0, 3}, {200, 2},  {2, 200}};

}  // namespace

TEST_CASE("accumulate: from any arrangement into any other, repeated elements added up") {
  RandomValues random(3);
  for (const Dims& shape : shapes)
    for (Arrangement of_target : arrangements)
      for (Arrangement of_source : arrangements)
        for (auto factors : {std::pair<Scalar, Scalar>{1, 1}, {0, 1}, {1, -1}, {-0.5, 2}}) {
          Scalar beta = factors.first, alpha = factors.second;
          CAPTURE(shape);
          CAPTURE(static_cast<int>(of_target));
          CAPTURE(static_cast<int>(of_source));
          CAPTURE(beta);
          CAPTURE(alpha);
          Arranged target(of_target, shape, random);
          Tensor source = Arranged(of_source, shape, random).view;
          Numbers expected = accumulated(beta, target, source, alpha);
          accumulate(beta, target.view, source, alpha);
          CHECK(mismatch(target.leaf, expected) == "");
        }
}

TEST_CASE("accumulate into one or several repeated axes at once") {
  RandomValues random(4);
  const Dims shape{3, 4, 5};
  for (const Dims& kept : {Dims{3, 1, 1}, Dims{1, 4, 1}, Dims{1, 1, 5}, Dims{3, 4, 1},
                           Dims{3, 1, 5}, Dims{1, 4, 5}, Dims{1, 1, 1}})
    for (Arrangement of_source : arrangements) {
      CAPTURE(kept);
      Arranged target(Arrangement::dense, kept, random);
      target.view = target.leaf.view(target.leaf.layout().expand(shape));
      Tensor source = Arranged(of_source, shape, random).view;
      Numbers expected = accumulated(1, target, source, 1);
      accumulate(1, target.view, source);
      CHECK(mismatch(target.leaf, expected) == "");
    }
}

TEST_CASE("a beta of 0 never reads the target") {
  RandomValues random(5);
  for (const Dims& kept : {Dims{3, 200}, Dims{3, 1}, Dims{1, 200}, Dims{1, 1}}) {
    CAPTURE(kept);
    Tensor poisoned = Tensor::full(kept, not_a_number), zero = Tensor::zeros(kept);
    Tensor source = random.tensor({3, 200});
    for (const Tensor& target : {poisoned, zero})
      accumulate(0, target.view(target.layout().expand({3, 200})), source);
    CHECK(same_bits(poisoned, zero));
  }
}

TEST_CASE("sums have the same bits whatever the number of threads") {
  Tensor source = RandomValues(6).tensor({400, 90, 3});
  for (const Dims& kept : {Dims{1, 1, 1}, Dims{400, 1, 1}, Dims{1, 90, 1}, Dims{1, 1, 3},
                           Dims{400, 1, 3}, Dims{1, 90, 3}}) {
    CAPTURE(kept);
    std::vector<Scalar> alone;
    for (int threads : {1, 2, 4}) {
      ThreadLimit limit(threads);
      Tensor target = Tensor::zeros(kept);
      accumulate(1, target.view(target.layout().expand(source.shape())), source);
      if (threads == 1) alone = target.values();
      CHECK(same_bits(target.values(), alone));
    }
  }
}

TEST_CASE("an empty sink takes nothing") {
  accumulate(OpenGradient{}, Tensor::zeros({3}));
  write_gradient(OpenGradient{}, [](const Tensor&, Scalar) { FAIL_CHECK("written to"); });
}

TEST_CASE("write_gradient writes straight into a dense gradient, else by way of a temporary") {
  Tensor x = Tensor::zeros({2, 3}).require_gradient();
  Tensor gradient = Tensor::from({3, 2}, std::vector<Scalar>{1, 2, 3, 4, 5, 6});
  write_gradient(x.open_gradient(), [&](const Tensor& target, Scalar beta) {
    CHECK(beta == 0);
    CHECK(target.data() == x.gradient().data());
    accumulate(beta, target, gradient.view(gradient.layout().reshape({2, 3}).value()));
  });
  CHECK(x.gradient().values() == std::vector<Scalar>{1, 2, 3, 4, 5, 6});
  write_gradient(x.view(x.layout().permute({1, 0})).open_gradient(),
                 [&](const Tensor& target, Scalar beta) {
                   CHECK(beta == 0);
                   CHECK(target.is_contiguous());
                   CHECK(target.data() != x.gradient().data());
                   accumulate(beta, target, gradient);
                 });
  CHECK(x.gradient().values() == std::vector<Scalar>{2, 5, 8, 6, 9, 12});
}

TEST_CASE(
    "zeroed_target: 0 for the first writer, what is there for the next, nothing for an empty "
    "sink") {
  Tensor x = Tensor::full({2, 3}, 1).require_gradient();
  accumulate(x.open_gradient(), Tensor::full({2, 3}, 5));
  x.zero_gradient();  // the buffer keeps its numbers
  CHECK(zeroed_target(x.open_gradient()).values() == std::vector<Scalar>(6, 0));
  accumulate(x.open_gradient(), Tensor::full({2, 3}, 5));
  CHECK(zeroed_target(x.open_gradient()).values() == std::vector<Scalar>(6, 5));
  CHECK(!zeroed_target({}).defined());
}

TEST_CASE("accumulate refuses another shape, by name") {
  CHECK(refusal([] {
          accumulate(1, Tensor::zeros({3}), Tensor::zeros({1, 3}));
        }) == "accumulate: a gradient of shape [1, 3] for [3]");
}
