#include "nn/parameters.h"

#include <vector>

#include "core/machine/allocator.h"
#include "core/machine/parallel.h"
#include "nn/parameter_budget.h"
#include "optim/fingerprint.h"

using namespace shiftgrad;

TEST_CASE("parameters start with the numbers of a sequence, whatever draws them") {
  const Dims shape{7, 11, 113};
  Random one{.seed = 5, .stream = 6, .counter = 7};
  std::vector<Scalar> normal, uniform;
  for (int64_t n = 0; n < product(shape); ++n)
    normal.push_back(static_cast<Scalar>(0.5 * one.normal()));
  for (int64_t n = 0; n < product(shape); ++n)
    uniform.push_back(static_cast<Scalar>(0.25 * (2 * one.uniform() - 1)));
  for (int threads : {1, 2, 4})
    with_threads(threads, [&] {
      Random random{.seed = 5, .stream = 6, .counter = 7};
      CHECK(normal_parameter(shape, random, 0.5).values() == normal);
      CHECK(uniform_parameter(shape, random, 0.25).values() == uniform);
      CHECK(random == one);
    });
}

TEST_CASE("parameters start with the numbers that they always had") {
  // FNV-1a of the values as floats, from the version that drew them one by one.
  Random random{.seed = 1};
  std::vector<float> values;
  for (Scalar value : normal_parameter({300, 200}, random).values())
    values.push_back(static_cast<float>(value));
  for (Scalar value : uniform_parameter({300, 200}, random, 0.5).values())
    values.push_back(static_cast<float>(value));
  CHECK(hash(std::as_bytes(std::span<const float>(values))) == 0xd34034b40c9c4a81);
  CHECK(random.counter == 120'000);
}

TEST_CASE("parameters without values may have no memory to keep") {
  ParameterBudget budget(1000, 1);
  budget.is_filled = false;
  int64_t before = allocator_counters().bytes_in_use;
  Tensor parameter = normal_parameter({10, 100}, budget);
  CHECK(allocator_counters().bytes_in_use == before);
  CHECK(parameter.shape() == Dims{10, 100});
  CHECK(parameter.requires_gradient());
}
