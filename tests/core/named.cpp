#include "core/named.h"

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

enum class Fruit { apple, pear, plum };
constexpr auto names(Fruit) { return std::array{"apple", "pear", "plum"}; }

}  // namespace

TEST_CASE("named: values print as their names and are found by them") {
  for (Fruit fruit : {Fruit::apple, Fruit::pear, Fruit::plum})
    CHECK(value_named<Fruit>(name_of(fruit)) == fruit);
  CHECK(name_of(Fruit::plum) == std::string("plum"));
  CHECK(choices<Fruit>() == "apple|pear|plum");
  CHECK(is_name<Fruit>("pear"));
  CHECK(!is_name<Fruit>("Pear"));
}

TEST_CASE("named: another name is refused with a list of all") {
  CHECK(refusal([] { value_named<Fruit>("fig"); }) == "\"fig\", expected apple, pear or plum");
  CHECK(refusal([] { value_named<Fruit>(""); }) == "\"\", expected apple, pear or plum");
}
