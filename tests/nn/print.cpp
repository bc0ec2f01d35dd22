#include "nn/print.h"

#include <doctest/doctest.h>

#include <sstream>

#include "nn/models/language_model.h"
#include "tests/support/foreign_locale.h"

using namespace shiftgrad;

namespace {

std::string printed(const Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

/// Members whose names begin alike, one inside the other, and one shared.
struct Nested : Module {
  struct Inner : Module {
    Tensor a = Tensor::zeros({2}), ab = Tensor::zeros({3});
    void visit(Visitor& visitor) const override {
      visitor("a", a);
      visitor("ab", ab);
    }
  };
  Inner x, xy;
  Tensor own = Tensor::zeros({}), absent;

  void visit(Visitor& visitor) const override {
    visitor("xy", xy);
    visitor("x", x);
    visitor("own", own);
    visitor("absent", absent);
    visitor("shared", x);
    visitor("x", own);
  }
};

struct Empty : Module {
  void visit(Visitor&) const override {}
};

}  // namespace

TEST_CASE("a module prints its parameters, nested as it lists them") {
  CHECK(printed(Nested()) == R"(Module of 11 parameters
  xy
    a [2]
    ab [3]
  x
    a [2]
    ab [3]
  own [])");
  CHECK(printed(Empty()) == "Module of 0 parameters");
}

TEST_CASE("a model prints its blocks") {
  Random random;
  LanguageModel model({.vocab_size = 9, .d_model = 6, .n_layer = 2, .n_head = 2, .d_inner = 5},
                      random);
  std::string text = printed(model);
  CHECK(text.starts_with("Module of " + std::to_string(parameter_count(model)) +
                         " parameters\n  embedding\n    weight [9, 6]\n"));
  CHECK(text.find(R"(
  blocks
    0
      mixer
        qkv
          weight [18, 6]
          bias [18]
        output
          weight [6, 6]
          bias [6]
      mixer_norm
        weight [6]
)") != std::string::npos);
  CHECK(text.find("\n    1\n      mixer\n") != std::string::npos);
}

TEST_CASE("a module looks the same on a stream of any locale") {
  std::ostringstream out;
  out.imbue(ForeignLocale::foreign());
  out << Nested();
  CHECK(out.str() == printed(Nested()));
}
