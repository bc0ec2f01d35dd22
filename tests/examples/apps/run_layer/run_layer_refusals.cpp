// Broken cases: exit status 2, one line on standard error that names what is wrong, and nothing
// written.

#include <doctest/doctest.h>

#include <ctime>

#include "nn/models/config.h"
#include "nn/models/language_model.h"
#include "tests/support/layer_case.h"
#include "tests/support/models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

void check_refused(const Outcome& outcome, const std::string& expected) {
  CHECK(outcome.status == 2);
  CHECK(outcome.error.find(expected) != std::string::npos);
  CAPTURE(outcome.error);
  CHECK(std::count(outcome.error.begin(), outcome.error.end(), '\n') == 1);
  CHECK(outcome.error.ends_with("\n"));
  CHECK(outcome.files == 0);
}

using Change = std::function<void(SafeTensors&)>;

struct Broken {
  Change change;
  std::string error;
};

void check_all(const SafeTensors& good, const std::vector<Broken>& list) {
  CHECK(run_case(good).status == 0);
  for (const Broken& broken : list) {
    CAPTURE(broken.error);
    SafeTensors given = good;
    broken.change(given);
    check_refused(run_case(given), broken.error);
  }
}

StoredTensor zeros(const Dims& shape) { return stored(Tensor::zeros(shape)); }
StoredTensor mask(const Dims& shape) {
  return stored(Mask{shape, std::vector<uint8_t>(static_cast<size_t>(product(shape)))});
}

Change put(const std::string& name, const StoredTensor& tensor) {
  return [=](SafeTensors& given) { given.tensors[name] = tensor; };
}
Change drop(const std::string& name) {
  return [=](SafeTensors& given) { given.tensors.erase(name); };
}
Change set(const std::string& key, const std::string& value) {
  return [=](SafeTensors& given) { given.metadata[key] = value; };
}

/// A good case of a layer over x [2, 3, 4] with zeros everywhere.
template <class Config>
SafeTensors good_case(const std::string& json) {
  Random start;
  auto layer = make_layer(config_from_json<Config>(json), start);
  SafeTensors given = make_case(Config::type, json, layer);
  given.tensors["input.x"] = given.tensors["grad_output"] = zeros({2, 3, 4});
  return given;
}

const std::string heads = R"({"d_model": 4, "n_head": 2})";

}  // namespace

TEST_CASE("run_layer refuses wrong arguments") {
  TemporaryFolder folder;
  for (const char* arguments : {"", "one", "one two three"}) {
    Outcome outcome = run_program(folder, arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.error == "usage: run_layer CASE.safetensors OUT.safetensors\n");
  }
}

TEST_CASE("run_layer refuses broken files") {
  TemporaryFolder folder;
  check_refused(run_case_file(folder.file("absent")), folder.file("absent"));
  std::string path = folder.file("case.safetensors");
  write_safetensors(path, good_case<MultiHeadAttentionConfig>(heads));
  std::string whole = read_text(path);
  for (size_t size : {size_t{0}, size_t{7}, size_t{100}, whole.size() - 1}) {
    write_text(path, whole.substr(0, size));
    check_refused(run_case_file(path), path);
  }
  write_text(path, whole + "x");
  check_refused(run_case_file(path), path);
}

TEST_CASE("run_layer leaves an older OUT as it is when it fails") {
  TemporaryFolder folder;
  std::string path = folder.file("case.safetensors"), out = folder.file("out.safetensors");
  SafeTensors given = good_case<MultiHeadAttentionConfig>(heads);
  given.tensors.erase("input.x");
  write_safetensors(path, given);
  write_text(out, "as it was");
  CHECK(run_program(folder, path + " " + out).status == 2);
  CHECK(read_text(out) == "as it was");
  write_safetensors(path, good_case<MultiHeadAttentionConfig>(heads));
  Outcome nowhere = run_program(folder, path + " " + folder.file("no/folder"));
  check_refused(nowhere, folder.file("no/folder"));
}

TEST_CASE("run_layer refuses sizes that the case cannot fill before it allocates them") {
  auto refused = [](const std::string& layer, const std::string& config, const std::string& error) {
    CAPTURE(config);
    const std::clock_t start = std::clock();
    check_refused(run_case({{}, {{"layer", layer}, {"config", config}}}), error);
    CHECK(double(std::clock() - start) / CLOCKS_PER_SEC < 5);  // seconds of the CPU
  };
  refused("aft", R"({"d_model": 2, "form": "local", "max_len": 3, "window": 4611686018427387904})",
          "aft: window 4611686018427387904, expected at most 1000000000");
  refused("relative_global_attention",
          R"({"d_model": 2, "n_head": 1, "max_seq": 9223372036854775807})",
          "relative_global_attention: max_seq 9223372036854775807, expected at most 1000000000");
  refused("relative_global_attention", R"({"d_model": 2, "n_head": 1, "max_seq": 900000000})",
          "more parameters than the 0 values that are there, the next one being [1, 900000000, 2]");
  refused("language_model",
          R"({"vocab_size": 1, "d_model": 1, "n_layer": 10000, "n_head": 1, "d_inner": 1,)"
          R"( "mixer": {"type": "aft", "form": "simple"}})",
          "more parameters than the 0 values that are there");
}

TEST_CASE("run_layer refuses cases that do not describe their layer") {
  const std::string of = "multi_head_attention: ";
  auto without = [](const std::string& key) {
    return [=](SafeTensors& given) { given.metadata.erase(key); };
  };
  StoredTensor other{sizeof(Scalar) == 4 ? DType::f64 : DType::f32, {2, 3, 4}, {}};
  other.bytes = std::vector<std::byte>(static_cast<size_t>(24 * bits_of(other.dtype) / 8));
  check_all(good_case<MultiHeadAttentionConfig>(heads),
            {
                {without("layer"), "metadata \"layer\" is missing"},
                {without("config"), "metadata \"config\" is missing"},
                {set("layer", "attention"), "unknown layer \"attention\""},
                {set("config", "{"), ""},
                {set("config", "[1]"), of + "the config is not a JSON object"},
                {set("config", R"({"d_model": 4, "n_head": 2, "heads": 1})"),
                 of + "unknown config key \"heads\""},
                {set("config", R"({"d_model": 4, "n_head": null})"),
                 of + "config key \"n_head\" is null"},
                {set("config", R"({"d_model": 4, "n_head": 3})"),
                 of + "d_model 4 is not divisible by n_head 3"},
                {drop("param.qkv.bias"), of + "tensor \"param.qkv.bias\" is missing"},
                {drop("input.x"), of + "tensor \"input.x\" is missing"},
                {drop("grad_output"), of + "tensor \"grad_output\" is missing"},
                {put("param.extra", zeros({1})), of + "unexpected tensor \"param.extra\""},
                {put("input.y", zeros({1})), of + "unexpected tensor \"input.y\""},
                {put("param.qkv.weight", zeros({4, 12})), "\"param.qkv.weight\" is [4, 12]"},
                {put("input.x", zeros({3, 4})), "\"input.x\" is [3, 4]"},
                {put("input.x", zeros({2, 3, 5})), "\"input.x\" is [2, 3, 5]"},
                {put("input.x", zeros({0, 3, 4})), "\"input.x\" is [0, 3, 4]"},
                {put("input.x", zeros({2, 0, 4})), "\"input.x\" is [2, 0, 4]"},
                {put("input.x", other), "tensor \"input.x\": F"},
                {put("param.qkv.weight", other), "tensor \"param.qkv.weight\": F"},
                {put("grad_output", zeros({2, 4, 4})), "\"grad_output\" is [2, 4, 4]"},
                {put("grad_output", zeros({24})), "\"grad_output\" is [24]"},
                {put("input.memory", zeros({1, 2, 4})), "\"input.memory\" is [1, 2, 4]"},
                {put("input.memory", zeros({2, 2, 5})), "\"input.memory\" is [2, 2, 5]"},
                {put("input.memory", zeros({2, 4})), "\"input.memory\" is [2, 4]"},
                {put("input.key_padding_mask", mask({2, 4})), "key_padding_mask [2, 4]"},
                {put("input.key_padding_mask", zeros({2, 3})), "\"input.key_padding_mask\": F"},
                {put("input.attention_mask", mask({2, 3})), "attention_mask [2, 3]"},
                {put("input.attention_mask", mask({3, 3, 3})), "attention_mask [3, 3, 3]"},
            });
}

TEST_CASE("run_layer refuses inputs that cross-attention cannot have") {
  SafeTensors good = good_case<MultiHeadAttentionConfig>(heads);
  good.tensors["input.context"] = zeros({2, 5, 4});
  auto config = [](const std::string& more) {
    return set("config", R"({"d_model": 4, "n_head": 2, )" + more + "}");
  };
  check_all(good, {
                      {put("input.context", zeros({1, 5, 4})), "\"input.context\" is [1, 5, 4]"},
                      {put("input.context", zeros({2, 0, 4})), "\"input.context\" is [2, 0, 4]"},
                      {put("input.memory", zeros({2, 1, 4})), "input.memory"},
                      {config(R"("window": 2)"), "window"},
                      {config(R"("position": "rope")"), "position"},
                      {config(R"("position": "alibi")"), "position"},
                      {put("input.key_padding_mask", mask({2, 3})), "key_padding_mask [2, 3]"},
                      {put("input.attention_mask", mask({3, 3})), "attention_mask [3, 3]"},
                  });
  // Of all other layers it is an error.
  auto refuses_context = [](const SafeTensors& other) {
    check_all(other, {{put("input.context", zeros({2, 5, 4})), "\"input.context\""}});
  };
  refuses_context(good_case<TransformerXLAttentionConfig>(heads));
  refuses_context(good_case<AftConfig>(R"({"d_model": 4, "form": "simple"})"));
  refuses_context(good_case<TransformerBlockConfig>(
      R"({"mixer": {"type": "multi_head_attention", "d_model": 4, "n_head": 2}, "d_inner": 3})"));
  SafeTensors block = good_case<EncoderDecoderBlockConfig>(
      R"({"mixer": {"type": "multi_head_attention", "d_model": 4, "n_head": 2}, "d_inner": 3})");
  block.tensors["input.context"] = zeros({2, 5, 4});
  check_all(block, {{drop("input.context"), "\"input.context\" is missing"}});
}

TEST_CASE("run_layer refuses masks and memories where a layer has none") {
  for (const auto& [name, shape] :
       {std::pair<std::string, Dims>{"key_padding_mask", {2, 3}}, {"attention_mask", {3, 3}}}) {
    Broken broken{put("input." + name, mask(shape)), name};
    check_all(good_case<LocalRnnConfig>(R"({"d_model": 4, "window": 2})"), {broken});
    check_all(good_case<TransformerBlockConfig>(
                  R"({"mixer": {"type": "local_rnn", "d_model": 4, "window": 2}, "d_inner": 3})"),
              {broken});
    check_all(good_case<RTransformerBlockConfig>(
                  R"({"d_model": 4, "n_head": 2, "window": 2, "d_inner": 3})"),
              {broken,
               {put("input.memory", zeros({2, 1, 4})), "input.memory"},
               {put("input.memory", zeros({2, 0, 4})), "input.memory"}});
  }
  SafeTensors shift;
  shift.metadata = {{"layer", "rel_shift"}, {"config", "{}"}};
  shift.tensors["input.x"] = shift.tensors["grad_output"] = zeros({3, 3});
  for (const char* layer : {"rel_shift", "shift_right"}) {
    shift.metadata["layer"] = layer;
    check_all(shift, {
                         {put("input.key_padding_mask", mask({2, 3})), "key_padding_mask"},
                         {put("input.attention_mask", mask({3, 3})), "attention_mask"},
                         {put("input.memory", zeros({3, 3})), "input.memory"},
                         {put("input.x", zeros({3})), "\"input.x\" is [3]"},
                         {put("input.x", zeros({3, 0})), "\"input.x\" is [3, 0]"},
                         {set("config", R"({"window": 1})"), "unknown config key \"window\""},
                     });
  }
}

TEST_CASE("run_layer refuses lengths beyond a table") {
  check_all(good_case<RelativeMultiHeadAttentionConfig>(
                R"({"d_model": 4, "n_head": 2, "max_positions": 3})"),
            {{put("input.memory", zeros({2, 2, 4})), "max_positions 3"}});
  check_all(good_case<AftConfig>(R"({"d_model": 4, "max_len": 3})"),
            {{put("input.memory", zeros({2, 1, 4})), "max_len 3"}});
}

TEST_CASE("run_layer refuses broken language models") {
  RandomValues random(151);
  ModelRow row(R"("mixer": {"type": "transformer_xl_attention"})");
  LanguageModel model = row.make(random);
  SafeTensors good = make_case("language_model", row.json, model);
  Tokens tokens = random_tokens(2, 3, 7, 152);
  good.tensors["input.tokens"] = good.tensors["input.targets"] = stored(tokens);
  Tokens beyond = tokens, negative = tokens;
  beyond.values[4] = 7;
  negative.values[4] = -1;
  Tokens nothing{{2, 0}, {}};
  check_all(
      good,
      {
          {drop("input.tokens"), "\"input.tokens\" is missing"},
          {drop("input.targets"), "\"input.targets\" is missing"},
          {put("input.tokens", stored(beyond)), "\"input.tokens\" has 7, expected 0 to 6"},
          {put("input.tokens", stored(negative)), "\"input.tokens\" has -1"},
          {put("input.targets", stored(beyond)), "\"input.targets\" has 7"},
          {put("input.tokens", stored(nothing)), "\"input.tokens\" is [2, 0]"},
          {put("input.tokens", zeros({2, 3})), "tensor \"input.tokens\": F"},
          {put("input.targets", stored(part(tokens, 0, 2))), "\"input.targets\" is [2, 2]"},
          {put("grad_output", zeros({2, 3, 7})), "unexpected tensor \"grad_output\""},
          {put("input.key_padding_mask", mask({2, 3})), "key_padding_mask"},
          {put("input.memory.0", zeros({2, 1, 4})), "\"input.memory.1\" is missing"},
          {put("input.memory.1", zeros({2, 1, 4})), "\"input.memory.1\""},
          {put("input.memory.2", zeros({2, 1, 4})), "unexpected tensor \"input.memory.2\""},
          {put("input.memory.0", zeros({2, 1, 5})), "\"input.memory.0\" is [2, 1, 5]"},
          {[](SafeTensors& given) {
             given.tensors["input.memory.0"] = zeros({2, 1, 4});
             given.tensors["input.memory.1"] = zeros({2, 2, 4});
           },
           "\"input.memory.1\" is [2, 2, 4]"},
          {drop("param.blocks.1.mixer.content_bias"),
           "\"param.blocks.1.mixer.content_bias\" is missing"},
          {put("param.content_bias", zeros({2, 2})), "unexpected tensor \"param.content_bias\""},
      });
  ModelRow recurrent(R"("block": "r_transformer_block", "window": 2, "cell": "rnn")", false);
  LanguageModel other = recurrent.make(random);
  SafeTensors of_other = make_case("language_model", recurrent.json, other);
  of_other.tensors["input.tokens"] = of_other.tensors["input.targets"] = stored(tokens);
  check_all(of_other, {{[](SafeTensors& given) {
                          given.tensors["input.memory.0"] = zeros({2, 1, 4});
                          given.tensors["input.memory.1"] = zeros({2, 1, 4});
                        },
                        "input.memory.0"}});
}
