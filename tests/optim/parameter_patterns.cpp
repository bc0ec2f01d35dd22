#include "optim/parameter_patterns.h"

#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

std::vector<Parameter> named(const std::vector<std::string>& names) {
  std::vector<Parameter> parameters;
  for (const std::string& name : names) parameters.push_back({name, Tensor::zeros({1}), Decay::no});
  return parameters;
}

const std::vector<Parameter> four =
    named({"embedding.weight", "blocks.0.up.weight", "blocks.0.up.bias", "blocks.10.up.weight"});

}  // namespace

TEST_CASE("parameter patterns: what is not frozen stays, in its order") {
  auto left = [](const std::string& patterns) {
    std::vector<std::string> names;
    for (const Parameter& parameter : trainable(four, patterns)) names.push_back(parameter.name);
    return names;
  };
  CHECK(left("").size() == 4);
  CHECK(left("*.weight") == std::vector<std::string>{"blocks.0.up.bias"});
  CHECK(left("embedding.weight,blocks.0.*") == std::vector<std::string>{"blocks.10.up.weight"});
  CHECK(left("blocks.?.*").size() == 2);
  CHECK(refusal([&] { left("*"); }) == "freeze \"*\" leaves no parameter to train");
  CHECK(refusal([&] { left("embedding.*,embedding"); }) ==
        "freeze \"embedding\", expected a pattern that matches a parameter, such as "
        "embedding.weight");
}

TEST_CASE("parameter patterns: of the factors of a learning rate, the last that matches counts") {
  auto factors = [](const std::string& patterns) { return learning_rate_factors(four, patterns); };
  CHECK(factors("") == std::vector<double>{1, 1, 1, 1});
  CHECK(factors("blocks.*=0.5") == std::vector<double>{1, 0.5, 0.5, 0.5});
  CHECK(factors("blocks.*=0.5,*.bias=2e1") == std::vector<double>{1, 0.5, 20, 0.5});
  CHECK(factors("*.bias=2,*=3") == std::vector<double>{3, 3, 3, 3});
  CHECK(refusal([&] { factors("head.*=2"); }) ==
        "lr_scale \"head.*\", expected a pattern that matches a parameter, such as "
        "embedding.weight");
  for (const char* entry : {"*", "*=", "*=0", "*=-1", "*=nan", "*=inf", "*=2x", "2", "*=1e999"})
    CHECK(refusal([&] { factors(entry); }) ==
          text("lr_scale \"", entry, "\", expected PATTERN=FACTOR with a factor of more than 0"));
}

TEST_CASE("parameter patterns: the other names of a tied parameter are known") {
  std::vector<TiedName> tied = {
      {"output.weight", "embedding.weight"}, {"blocks.0.u", "u"}, {"blocks.10.u", "u"}};
  std::vector<Parameter> all = four;
  all.push_back({"u", Tensor::zeros({1}), Decay::no});
  std::string owner = "\": output.weight is tied to embedding.weight, expected that name";
  CHECK(refusal([&] { trainable(all, "output.*", tied); }) == "freeze \"output.*" + owner);
  CHECK(refusal([&] { learning_rate_factors(all, "output.weight=2", tied); }) ==
        "lr_scale \"output.weight" + owner);

  using Notes = std::vector<std::string>;
  CHECK(tied_notes(tied, "", "").empty());
  CHECK(tied_notes({}, "embedding.*", "*=2").empty());
  CHECK(tied_notes(tied, "*", "*=2").empty());
  CHECK(tied_notes(tied, "embedding.*,output.*", "").empty());
  CHECK(tied_notes(tied, "embedding.*", "") ==
        Notes{"freeze: output.weight is frozen with embedding.weight, tied to it"});
  CHECK(tied_notes(tied, "blocks.*", "") ==
        Notes{"freeze: blocks.0.u and 1 more learn with u, tied to it"});
  CHECK(tied_notes(tied, "blocks.0.*,u", "") ==
        Notes{"freeze: blocks.10.u is frozen with u, tied to it"});
  CHECK(tied_notes(tied, "", "*=2,embedding.*=3") ==
        Notes{"lr_scale: output.weight has the factor 3 of embedding.weight, tied to it"});
}
