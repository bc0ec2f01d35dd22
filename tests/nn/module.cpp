// The names, shapes and order of all parameters: files and programs outside the project rely on
// them.

#include "nn/module.h"

#include <doctest/doctest.h>

#include "core/tape.h"
#include "nn/models/config.h"
#include "nn/models/encoder_decoder_block.h"
#include "nn/models/language_model.h"
#include "ops/arithmetic.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

/// Each parameter as `name [shape]`, those that weight decay acts on with a `*`.
template <class Config>
std::vector<std::string> listed(const std::string& json) {
  Random random;
  auto layer = make_layer(config_from_json<Config>(json), random);
  std::vector<std::string> lines;
  for (const Parameter& parameter : parameters(layer))
    lines.push_back(text(parameter.name, " ", parameter.value.shape(),
                         parameter.decay == Decay::yes ? " *" : ""));
  return lines;
}

using Lines = std::vector<std::string>;

/// The lines, each with a prefix.
Lines under(const std::string& prefix, Lines lines) {
  for (std::string& line : lines) line = prefix + "." + line;
  return lines;
}

Lines joined(std::initializer_list<Lines> parts) {
  Lines all;
  for (const Lines& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Lines attention_lines = {"qkv.weight [18, 6] *", "qkv.bias [18]", "output.weight [6, 6] *",
                               "output.bias [6]"};
const Lines norm = {"weight [6]", "bias [6]"};
const Lines feed_forward = {"up.weight [5, 6] *", "up.bias [5]", "down.weight [6, 5] *",
                            "down.bias [6]"};

}  // namespace

TEST_CASE("a module computes with the tensors that are put in its parameters' places") {
  Random random;
  MultiHeadAttention one({}, {2, 1}, random);
  MultiHeadAttention other({}, {2, 1}, random);
  Tensor x = Tensor::from({1, 2, 2}, std::vector<Scalar>{1, 2, 3, 4});
  CHECK(one(x).values() != other(x).values());
  std::vector<Tensor*> places = parameter_places(one);
  std::vector<Parameter> given = parameters(other);
  REQUIRE(places.size() == given.size());
  for (size_t n = 0; n < places.size(); ++n) *places[n] = given[n].value;
  CHECK(one(x).values() == other(x).values());
}

namespace {

/// A module of tensors under any names.
struct ListOfTensors : Module {
  std::vector<std::pair<std::string, Tensor>> members;

  void visit(Visitor& visitor) const override {
    for (const auto& [name, value] : members) visitor(name, value);
  }
};

std::vector<std::string> names_of(const std::vector<std::pair<std::string, Tensor>>& members) {
  ListOfTensors module;
  module.members = members;
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters(module)) names.push_back(parameter.name);
  return names;
}

}  // namespace

TEST_CASE("two parts of one storage are two parameters, one part is one") {
  Tensor all = Tensor::zeros({4, 6});
  Tensor left = slice(all, 1, 0, 3), right = slice(all, 1, 3, 6);
  CHECK(names_of({{"a", slice(all, 0, 0, 2)}, {"b", slice(all, 0, 2, 4)}}) == Lines{"a", "b"});
  CHECK(names_of({{"a", left}, {"b", right}}) == Lines{"a", "b"});
  CHECK(names_of({{"a", left}, {"b", right}, {"c", left}, {"a", left}}) == Lines{"a", "b"});
  CHECK(names_of({{"a", slice(all, 1, 0, 6, 2)}, {"b", slice(all, 1, 1, 6, 2)}}) ==
        Lines{"a", "b"});
  const std::string common = " have elements in common, expected one tensor or two apart";
  CHECK(refusal([&] {
          names_of({{"a", all}, {"b", left}});
        }) == "module: the parameters a [4, 6] and b [4, 3]" + common);
  CHECK(refusal([&] {
          names_of({{"a", slice(all, 0, 0, 3)}, {"b", slice(all, 0, 2, 4)}});
        }) == "module: the parameters a [3, 6] and b [2, 6]" + common);
  CHECK(refusal([&] {
          names_of({{"a", all}, {"b", all.detach()}});
        }) == "module: the parameters a [4, 6] and b [4, 6]" + common);
  CHECK(refusal([&] {
          names_of({{"a", left}, {"a", right}});
        }) == "module: two parameters of the name a, [4, 3] and [4, 3]");
}

TEST_CASE("what learns and is not listed is named by its shape") {
  ListOfTensors module;
  Tensor all = Tensor::full({4, 6}, 1).require_gradient();
  Tensor hidden = Tensor::full({6}, 2).require_gradient(), frozen = Tensor::full({6}, 3);
  module.members = {{"a", slice(all, 0, 0, 2)}};
  Tape tape;
  Tensor y = slice(all, 0, 0, 1) * frozen;
  require_listed(tape, parameters(module));
  auto complaint = [&](const char* shape) {
    return text("parameters: the forward pass reads a tensor of shape ", shape,
                " that requires a gradient and that no visit() lists: nothing would train or save "
                "it; list it, or call require_gradient(false)");
  };
  {
    Tape other;
    Tensor z = y * hidden;
    CHECK(refusal([&] { require_listed(other, parameters(module)); }) == complaint("[6]"));
  }
  {
    Tape other;
    Tensor z = scale(slice(all, 0, 3, 4), 2);
    CHECK(refusal([&] { require_listed(other, parameters(module)); }) == complaint("[1, 6]"));
  }
}

TEST_CASE("parameters of attention") {
  CHECK(listed<MultiHeadAttentionConfig>(R"({"d_model": 6, "n_head": 2})") == attention_lines);
  CHECK(listed<MultiHeadAttentionConfig>(R"({"d_model": 6, "n_head": 2, "bias": false})") ==
        Lines{"qkv.weight [18, 6] *", "output.weight [6, 6] *"});
  CHECK(listed<RelativeMultiHeadAttentionConfig>(
            R"({"d_model": 6, "n_head": 2, "max_positions": 5})") ==
        Lines{"qkv.weight [18, 6] *", "output.weight [6, 6] *", "output.bias [6]", "value_bias [6]",
              "key_pos_embeddings [10, 2, 3]", "key_pos_bias [10, 2]", "query_pos_bias [2, 3]"});
  CHECK(
      parameters(RelativeMultiHeadAttention({}, {2, 1}, *std::make_unique<Random>()))[4].value.size(
          0) == 2 * 4096);
  CHECK(listed<RelativeGlobalAttentionConfig>(
            R"({"d_model": 6, "n_head": 2, "max_seq": 5, "bidirectional": true})") ==
        joined({attention_lines,
                {"past_embeddings [2, 5, 3]", "past_bias [2, 5]", "future_embeddings [2, 5, 3]",
                 "future_bias [2, 5]"}}));
  CHECK(listed<RelativeGlobalAttentionConfig>(
            R"({"d_model": 6, "n_head": 2, "max_seq": 5, "relative_bias": false})") ==
        joined({attention_lines, {"past_embeddings [2, 5, 3]"}}));
  CHECK(listed<ShawAttentionConfig>(R"({"d_model": 6, "n_head": 2, "max_distance": 2})") ==
        joined({attention_lines,
                {"key_distance_embeddings [5, 3]", "value_distance_embeddings [5, 3]"}}));
}

TEST_CASE("parameters of Transformer-XL's attention") {
  CHECK(listed<TransformerXLAttentionConfig>(R"({"d_model": 6, "n_head": 2, "d_head": 4})") ==
        Lines{"qkv.weight [24, 6] *", "output.weight [6, 8] *", "content_bias [2, 4]",
              "position.weight [8, 6] *", "position_bias [2, 4]"});
  CHECK(listed<TransformerXLAttentionConfig>(
            R"({"d_model": 6, "n_head": 2, "positions": "learned", "max_positions": 5})") ==
        Lines{"qkv.weight [18, 6] *", "output.weight [6, 6] *", "content_bias [2, 3]",
              "position_embeddings [5, 2, 3]", "position_scalar_bias [5, 2]"});
  CHECK(listed<TransformerXLAttentionConfig>(
            R"({"d_model": 6, "n_head": 2, "d_head": 4, "projection_bias": true})") ==
        Lines{"qkv.weight [24, 6] *", "qkv.bias [24]", "output.weight [6, 8] *", "output.bias [6]",
              "content_bias [2, 4]", "position.weight [8, 6] *", "position_bias [2, 4]"});
}

TEST_CASE("parameters of aft") {
  CHECK(listed<AftConfig>(R"({"d_model": 6, "max_len": 5})") ==
        joined({attention_lines, {"position_bias [5, 5]"}}));
  CHECK(listed<AftConfig>(
            R"({"d_model": 6, "form": "local", "max_len": 5, "window": 2, "factor_rank": 3})") ==
        joined({attention_lines, {"position_bias_query [5, 3]", "position_bias_key [5, 3]"}}));
  CHECK(listed<AftConfig>(R"({"d_model": 6, "form": "simple"})") == attention_lines);
  CHECK(listed<AftConfig>(R"({"d_model": 6, "form": "conv", "window": 3, "n_head": 2})") ==
        Lines{"query.weight [6, 6] *", "query.bias [6]", "key.weight [2, 6] *", "key.bias [2]",
              "value.weight [6, 6] *", "value.bias [6]", "output.weight [6, 6] *",
              "output.bias [6]", "kernel [2, 3]", "kernel_gain [2]", "kernel_offset [2]"});
}

TEST_CASE("parameters of recurrent nets and blocks") {
  const Lines lstm = {"weight_ih [24, 6] *", "weight_hh [24, 6] *", "bias_ih [24]", "bias_hh [24]"};
  CHECK(listed<LocalRnnConfig>(R"({"d_model": 6, "window": 2, "cell": "lstm"})") == lstm);
  CHECK(listed<TransformerBlockConfig>(
            R"({"mixer": {"type": "aft", "form": "simple", "d_model": 6}, "d_inner": 5})") ==
        joined({under("mixer", attention_lines), under("mixer_norm", norm),
                under("feed_forward", feed_forward), under("feed_forward_norm", norm)}));
  CHECK(listed<RTransformerBlockConfig>(
            R"({"d_model": 6, "n_head": 2, "window": 2, "cell": "lstm", "d_inner": 5})") ==
        joined({under("local_rnn", lstm), under("local_norm", norm),
                under("attention", attention_lines), under("attention_norm", norm),
                under("feed_forward", feed_forward), under("feed_forward_norm", norm)}));
  CHECK(listed<EncoderDecoderBlockConfig>(
            R"({"mixer": {"type": "multi_head_attention", "d_model": 6, "n_head": 2},
                "d_inner": 5})") ==
        joined({under("mixer", attention_lines), under("mixer_norm", norm),
                under("cross_attention", attention_lines), under("cross_attention_norm", norm),
                under("feed_forward", feed_forward), under("feed_forward_norm", norm)}));
}

TEST_CASE("parameters of a language model") {
  const std::string sizes =
      R"("vocab_size": 9, "d_model": 6, "n_layer": 2, "n_head": 2, "d_inner": 5)";
  Lines block = joined({under("mixer", attention_lines), under("mixer_norm", norm),
                        under("feed_forward", feed_forward), under("feed_forward_norm", norm)});
  CHECK(listed<LanguageModelConfig>(
            "{" + sizes +
            R"(, "mixer": {"type": "aft", "form": "simple"}, "position": "learned",
                 "max_len": 7})") ==
        joined({{"embedding.weight [9, 6] *", "position_embedding.weight [7, 6]"},
                under("blocks.0", block),
                under("blocks.1", block),
                under("final_norm", norm),
                {"output.weight [9, 6] *", "output.bias [9]"}}));
  Lines xl = joined({{"mixer.qkv.weight [18, 6] *", "mixer.output.weight [6, 6] *",
                      "mixer.position.weight [6, 6] *"},
                     under("mixer_norm", norm),
                     under("feed_forward", feed_forward),
                     under("feed_forward_norm", norm)});
  CHECK(listed<LanguageModelConfig>(
            "{" + sizes + R"(, "mixer": {"type": "transformer_xl_attention"}, "final_norm": false,
                               "tie_embedding": true, "tie_position_biases": true})") ==
        joined({{"embedding.weight [9, 6] *", "content_bias [2, 3]", "position_bias [2, 3]"},
                under("blocks.0", xl),
                under("blocks.1", xl),
                {"output.bias [9]"}}));
}

TEST_CASE("a shared parameter is listed once, and its other names beside it") {
  ListOfTensors module;
  Tensor shared = Tensor::full({2}, 1);
  module.members = {{"a", shared}, {"b", Tensor::full({2}, 1)}, {"c", shared}, {"d", shared}};
  Visitor visitor(module);
  REQUIRE(visitor.tied.size() == 2);
  CHECK(visitor.tied[0].name == "c");
  CHECK(visitor.tied[1].name == "d");
  for (const TiedName& tied : visitor.tied) CHECK(tied.listed_as == "a");
}

TEST_CASE("a list of parameters has each element once") {
  Tensor all = Tensor::full({4, 6}, 1);
  auto named = [](const char* name, const Tensor& value) {
    return Parameter{name, value, Decay::no};
  };
  require_distinct("op", {named("a", slice(all, 0, 0, 2)), named("b", slice(all, 0, 2, 4)),
                          named("c", Tensor::full({3}, 1)), named("d", slice(all, 0, 1, 1))});
  // Columns lie between each other.
  require_distinct("op", {named("a", slice(all, 1, 0, 2)), named("b", slice(all, 1, 2, 6))});
  auto refused = [&](const Tensor& a, const Tensor& b) {
    Tensor other = Tensor::full({2}, 1);
    CHECK(refusal([&] {
            require_distinct("op", {named("a", a), named("o", other), named("b", b)});
          }) == "op: the parameters a and b have elements in common, expected each of them once");
  };
  refused(all, all);
  refused(all, all.detach());
  refused(slice(all, 0, 3, 4), all);
  refused(slice(all, 0, 0, 2), slice(all, 0, 1, 3));
  CHECK(refusal([&] { require_distinct("op", {named("a", {})}); }) ==
        "op: parameter a is undefined");
}
