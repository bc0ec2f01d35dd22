#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "core/random.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/oracles/philox.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("philox: many blocks at once, from any index on, are those one by one") {
  constexpr uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e;
  for (uint64_t first : {uint64_t{0}, uint64_t{3}, uint64_t{0xfffffffa}, uint64_t{1} << 63})
    for (size_t count = 0; count <= 20; ++count)
      on_every_instruction_set([&] {
        std::vector<PhiloxBlock> blocks(count + 1, PhiloxBlock{1, 2, 3, 4});
        philox(seed, stream, first, std::span(blocks).first(count));
        for (size_t n = 0; n < count; ++n)
          CHECK(blocks[n] == philox_oracle(seed, stream, first + n));
        CHECK(blocks[count] == PhiloxBlock{1, 2, 3, 4});
      });
}
