#include "tests/fuzz/foreign_errors.h"

#include <doctest/doctest.h>

using fuzz::foreign_mark;

TEST_CASE("foreign errors: messages of the standard library and of the JSON library are known") {
  for (const char* what :
       {"basic_string::substr: __pos (which is 5) > this->size() (which is 3)",
        "basic_string: construction from null is not valid", "vector::_M_range_check: __n is 7",
        "cannot create std::vector larger than max_size()", "std::bad_alloc", "bad_alloc",
        "map::at", "bad optional access", "stoll", "stod",
        "[json.exception.type_error.302] type must be string, but is number"}) {
    CHECK(foreign_mark(std::string("char_lm: run/best.safetensors: ") + what));
    CHECK(foreign_mark(std::string("char_lm: ") + what));
  }
}

TEST_CASE("foreign errors: a name that a file holds is no error of a library") {
  for (const char* message :
       {R"(char_lm: run/best.safetensors: unknown config key "basic_string::x")",
        R"(char_lm: run/best.safetensors: unexpected tensors "a\"b", "std::basic_string")",
        R"(char_lm: run/best.safetensors: vocabulary {"vector::":1}, expected a list)",
        R"(char_lm: run/best.safetensors: unknown dtype "basic_string...)"})
    CHECK(!foreign_mark(message));
}
