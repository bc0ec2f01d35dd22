#include "nn/models/checkpoint.h"

#include <ctime>
#include <filesystem>
#include <functional>

#include "core/machine/allocator.h"
#include "nn/parameter_budget.h"
#include "nn/state_dict.h"
#include "ops/elementwise.h"
#include "tests/support/refusal.h"
#include "tests/support/small_mixers.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

namespace {

Checkpoint example(const LanguageModel& model) {
  return {.model = model.config,
          .vocabulary = {10, 32, 97, 98, 99, 0, 255},
          .state = {.step = 1234, .train_loss = 1.25, .validation_loss = 1.0 / 3},
          .training = R"({"batch_size":12,"optimizer":"adamw"})",
          .weights = state_dict(model)};
}

std::vector<Scalar> logits_of(const LanguageModel& model) {
  Context context;
  return model({{1, 5}, {0, 1, 2, 3, 6}}, Memory{}, context).logits.values();
}

/// Why a file with this metadata text in place of the right one is refused, without the path.
std::string refused(const std::string& key, const std::string& text) {
  TemporaryFolder folder;
  std::string path = folder.file("model");
  write_checkpoint(path, example(loud_model(small_transformer_xl())));
  SafeTensors content = read_safetensors(path);
  if (text.empty())
    content.metadata.erase(key);
  else
    content.metadata[key] = text;
  write_safetensors(path, content);
  std::string reason = refusal([&] { make_model(read_checkpoint(path), path); });
  CHECK(reason.starts_with(path + ": "));
  CHECK(reason.find('\n') == reason.npos);
  return reason.substr(std::min(reason.size(), path.size() + 2));
}

}  // namespace

TEST_CASE("checkpoint: a model comes back whole") {
  TemporaryFolder folder;
  for (LanguageModelConfig config : {small_transformer_xl(), small_transformer(9)}) {
    LanguageModel model = loud_model(config);
    write_checkpoint(folder.file("model"), example(model));
    Checkpoint read = read_checkpoint(folder.file("model"));
    CHECK(read.vocabulary == std::vector<int32_t>{10, 32, 97, 98, 99, 0, 255});
    CHECK(read.state.step == 1234);
    CHECK(read.state.train_loss == 1.25);
    CHECK(read.state.validation_loss == 1.0 / 3);
    CHECK(read.training == R"({"batch_size":12,"optimizer":"adamw"})");
    CHECK(read.weights == state_dict(model));
    CHECK(logits_of(make_model(read, "file")) == logits_of(model));
  }
}

TEST_CASE("checkpoint: what training goes on from lies beside the weights") {
  TemporaryFolder folder;
  LanguageModel model = loud_model(small_transformer_xl());
  Checkpoint checkpoint = example(model);
  checkpoint.state.trainer["step"] = {DType::i64, {1}, std::vector<std::byte>(8)};
  write_checkpoint(folder.file("model"), checkpoint);
  Checkpoint read = read_checkpoint(folder.file("model"));
  CHECK(read.state.trainer == checkpoint.state.trainer);
  CHECK(read.weights == checkpoint.weights);
  CHECK(logits_of(make_model(read, "file")) == logits_of(model));
}

TEST_CASE("checkpoint: its vocabulary is of the unit that was saved") {
  Checkpoint checkpoint = example(loud_model(small_transformer_xl()));
  auto unit = [&](std::vector<int32_t> codes, const std::string& training) {
    checkpoint.vocabulary = std::move(codes);
    checkpoint.training = training;
    return vocabulary_of(checkpoint).unit();
  };
  // The codes of "Köln", which bytes and characters may both have.
  std::vector<int32_t> codes = {'K', 'l', 'n', 0xF6};
  CHECK(unit(codes, R"({"vocab":"bytes"})") == TextUnit::byte);
  CHECK(unit(codes, R"({"vocab":"all_bytes"})") == TextUnit::byte);
  CHECK(unit(codes, R"({"vocab":"characters","data":"d","block_size":8})") == TextUnit::character);
  CHECK(vocabulary_of(checkpoint).decode(vocabulary_of(checkpoint).encode("Köln")) == "Köln");
  // What says nothing about it.
  CHECK(unit(codes, "{}") == TextUnit::character);
  CHECK(unit(Vocabulary::all_bytes().codes(), "{}") == TextUnit::byte);
  CHECK(unit(codes, R"({"data":"d","block_size":8})") == TextUnit::byte);
  CHECK(unit({'K', 0x20AC}, R"({"data":"d","block_size":8})") == TextUnit::character);

  auto refused = [&](std::vector<int32_t> codes, const std::string& training) {
    return refusal([&] { unit(std::move(codes), training); });
  };
  CHECK(refused(codes, R"({"vocab":"words"})") ==
        "checkpoint: vocab words, expected bytes, all_bytes or characters");
  CHECK(refused(codes, R"({"vocab":3})") ==
        "checkpoint: vocab 3, expected bytes, all_bytes or characters");
  CHECK(refused(codes, "[]") == "checkpoint: training is not a JSON object");
  CHECK(refused({'K', 0x20AC}, R"({"vocab":"bytes"})") ==
        "checkpoint: the vocabulary is not a list of bytes in rising order");
}

TEST_CASE("checkpoint: losses that were not measured stay so") {
  TemporaryFolder folder;
  Checkpoint unmeasured = example(loud_model(small_transformer_xl()));
  unmeasured.state.train_loss = std::numeric_limits<double>::quiet_NaN();
  unmeasured.state.validation_loss.reset();
  write_checkpoint(folder.file("model"), unmeasured);
  Checkpoint read = read_checkpoint(folder.file("model"));
  CHECK(!read.state.train_loss.has_value());
  CHECK(!read.state.validation_loss.has_value());
}

TEST_CASE("checkpoint: the config may be changed where no shape depends on it") {
  Checkpoint checkpoint = example(loud_model(small_transformer_xl()));
  std::vector<Scalar> whole = logits_of(make_model(checkpoint, "file"));
  std::get<TransformerXLAttentionConfig>(checkpoint.model.mixer).clamp_len = 2;
  CHECK(logits_of(make_model(checkpoint, "file")) != whole);
  checkpoint.model.d_inner = 8;
  CHECK(refusal([&] { make_model(checkpoint, "file"); }) ==
        "file: tensor \"blocks.0.feed_forward.up.weight\": [24, 16], expected [8, 16]");
  checkpoint.model.n_head = 3;
  CHECK(refusal([&] { make_model(checkpoint, "file"); }) ==
        "file: transformer_xl_attention: d_model 16 is not divisible by n_head 3");
}

TEST_CASE("checkpoint: a file cut off anywhere gives one line that names it") {
  TemporaryFolder folder;
  std::string path = folder.file("model");
  write_checkpoint(path, example(loud_model(small_transformer_xl())));
  auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  for (int64_t part = 0; part < 20; ++part) {
    std::filesystem::resize_file(path, static_cast<uintmax_t>(size * (19 - part) / 20));
    std::string reason = refusal([&] { read_checkpoint(path); });
    CHECK(reason.starts_with(path + ": "));
    CHECK(reason.find('\n') == reason.npos);
  }
}

TEST_CASE("checkpoint: metadata that does not fit") {
  std::string wanted =
      ", expected the format shiftgrad-1: a language model's weights, config, vocabulary and run";
  CHECK(refused("format", "") ==
        "names no format; read it with char_lm inspect or read_safetensors()" + wanted);
  CHECK(refused("format", "pt") == "has the format \"pt\"" + wanted);
  CHECK(refused("format", "shiftgrad-2") == "has the format \"shiftgrad-2\"" + wanted);
  CHECK(refused("model", "") == "no model in the metadata");
  CHECK(refused("model", "{").starts_with("the config: not JSON"));
  CHECK(refused("vocabulary", "[1, 2]") ==
        "a vocabulary of 2 tokens for a model with vocab_size 7");
  CHECK(refused("vocabulary", "[1, 2, 1]") == "vocabulary: 1 stands twice");
  CHECK(refused("vocabulary", "[-1]") == "vocabulary: -1, expected a character's code");
  CHECK(refused("vocabulary", "7") == "vocabulary 7, expected a list");
  CHECK(refused("step", "-1") == "step -1, expected a number of updates");
  CHECK(refused("step", "1e99") == "step 1e+99, expected a number of updates");
  CHECK(refused("step", "18446744073709551615") ==
        "step 18446744073709551615, expected a number of updates");
  CHECK(refused("train_loss", "null") == "train_loss null, expected a number");
  CHECK(refused("training", "[]") == "training is not a JSON object");
  CHECK(refused("training", "{,}") == "training: not JSON: a mistake at byte 2");
}

namespace {

/// How the file of a model is refused once `damage` has changed what its config says: in one line
/// that begins with the file's name, at once, and before memory is asked for on its word.
template <class Damage>
std::string refused_cheaply(const LanguageModelConfig& config, Damage damage) {
  Checkpoint checkpoint = example(loud_model(config));
  damage(checkpoint.model);
  reset_peak();
  int64_t before = allocator_counters().bytes_in_use;
  const std::clock_t start = std::clock();
  std::string reason = refusal([&] { make_model(checkpoint, "file"); });
  CHECK(double(std::clock() - start) / CLOCKS_PER_SEC < 5);  // seconds of the CPU
  CHECK(allocator_counters().peak_bytes_in_use - before < 20'000'000);
  CHECK(reason.starts_with("file: "));
  CHECK(reason.find('\n') == reason.npos);
  return reason.substr(std::min(reason.size(), size_t{6}));
}

LanguageModelConfig small_model(const MixerConfig& mixer) {
  LanguageModelConfig config = small_transformer_xl();
  config.mixer = mixer;
  return config;
}

}  // namespace

TEST_CASE("checkpoint: sizes that no model has") {
  struct Sized {
    const char* name;
    int64_t LanguageModelConfig::*field;
    int64_t most;
  };
  for (const auto& [name, field, most] :
       {Sized{"d_model", &LanguageModelConfig::d_model, 1'000'000'000},
        Sized{"n_layer", &LanguageModelConfig::n_layer, 10'000},
        Sized{"d_inner", &LanguageModelConfig::d_inner, 1'000'000'000}})
    CHECK(refused_cheaply(small_transformer_xl(), [field = field](auto& config) {
            config.*field = int64_t{1} << 60;
          }) == text("language_model: ", name, " 1152921504606846976, expected at most ", most));
}

TEST_CASE("checkpoint: sizes that the weights cannot have") {
  using Config = LanguageModelConfig;
  auto xl = [](Config& config) { return &std::get<TransformerXLAttentionConfig>(config.mixer); };
  struct Damaged {
    Config model;
    std::function<void(Config&)> damage;
  };
  for (const auto& [model, damage] : std::vector<Damaged>{
           {small_transformer_xl(), [](Config& config) { config.n_layer = 10'000; }},
           {small_transformer_xl(),
            [](Config& config) { config.d_model = config.d_inner = config.n_layer = 3712; }},
           {small_transformer_xl(), [](Config& config) { config.d_inner = 1'000'000'000; }},
           {small_transformer_xl(), [](Config& config) { config.vocab_size = 1'000'000'000; }},
           {small_transformer_xl(), [=](Config& config) { xl(config)->d_head = 100'000'000; }},
           {small_transformer(9), [](Config& config) { config.max_len = 1'000'000'000; }},
       }) {
    std::string reason = refused_cheaply(model, damage);
    CAPTURE(reason);
    CHECK(reason.starts_with("the config asks for more parameters than the "));
  }
}

TEST_CASE("checkpoint: sizes of a mixer that the weights cannot have") {
  std::vector<MixerConfig> mixers = small_mixers(9);
  mixers.push_back(
      TransformerXLAttentionConfig{.positions = DistancePositions::learned, .max_positions = 5});
  mixers.push_back(AftConfig{.max_len = 9, .factor_rank = 2});
  mixers.push_back(AftConfig{.form = AftForm::conv, .window = 3});
  int refused = 0;
  for (const MixerConfig& mixer : mixers) {
    const LanguageModelConfig usual = small_model(mixer);
    LanguageModelConfig damaged = usual;
    auto damage = [&]<class Value>(Value& value, const Field& field, const auto&...) {
      if constexpr (std::is_same_v<Value, int64_t> ||
                    std::is_same_v<Value, std::optional<int64_t>>) {
        const std::optional<int64_t> size = value;
        if (!size) return;
        value = *size + 1;
        if (parameter_count(new_model(damaged)) != parameter_count(new_model(usual)))
          for (int64_t large : {25'000'000, 1'000'000'000}) {
            value = large;
            std::string reason = refused_cheaply(usual, [&](auto& config) { config = damaged; });
            CAPTURE(std::string(type_of(mixer)));
            CAPTURE(std::string(field.name));
            CAPTURE(reason);
            CHECK(reason.starts_with("the config asks for more parameters than the "));
            ++refused;
          }
        value = *size;
      }
    };
    fields_of(damaged.mixer, damage);
  }
  CHECK(refused >= 2 * 9);
}

TEST_CASE("checkpoint: parameters that are to be loaded are neither drawn nor too many") {
  LanguageModelConfig config = small_transformer_xl();
  LanguageModel trained = loud_model(config);
  Random random;
  ParameterBudget budget(state_dict(trained)), unlimited_ones;
  LanguageModel model(config, budget);
  CHECK(parameter_count(model) == parameter_count(trained));
  CHECK(budget.random == Random{});
  CHECK(refusal([&] {
          constant_parameter({2'000'000'000, 4}, 1, budget);
        }).ends_with("[2000000000, 4]"));
  LanguageModel larger(config, unlimited_ones);
  CHECK(unlimited_ones.random == Random{});
  CHECK(constant_parameter({3'000'000}, 1, unlimited_ones).count() == 3'000'000);
  CHECK(constant_parameter({2}, 3).values() == std::vector<Scalar>{3, 3});
  LanguageModel filled(config, random);
  CHECK(!(random == Random{}));
}

namespace {

/// The paper's attention without its last two terms: parameters of the same names and shapes, and
/// another score.
struct ShortAttention : TransformerXLAttention {
  using TransformerXLAttention::TransformerXLAttention;

 protected:
  RelativeAttention equation(const Heads& heads, const Tensor& positions) const override {
    RelativeAttention score = TransformerXLAttention::equation(heads, positions);
    score.content_bias = score.position_bias = Tensor();
    return score;
  }
};

std::unique_ptr<Layer> make_short_attention(Random& random) {
  return std::make_unique<ShortAttention>(TransformerXLAttentionConfig{}, Width{16, 2}, random);
}

/// One whose weights matter.
LanguageModel short_model() {
  Random random;
  LanguageModel model(small_transformer_xl(), random, make_short_attention);
  load_state_dict(model, state_dict(loud_model(small_transformer_xl())), "loud");
  return model;
}

}  // namespace

TEST_CASE("checkpoint: a mixer of the program's own comes back through its maker alone") {
  TemporaryFolder folder;
  std::string path = folder.file("model");
  LanguageModel model = short_model();
  write_checkpoint(path, example(model));
  Checkpoint read = read_checkpoint(path);
  CHECK(refusal([&] { make_model(read, path); }) ==
        path + ": language_model: own_mixer true, which needs the maker of that mixer");
  LanguageModel again = make_model(read, path, make_short_attention);
  CHECK(logits_of(again) == logits_of(model));
  CHECK(state_dict(again) == state_dict(model));
  // What was read is written as what it is.
  write_checkpoint(path, example(again));
  CHECK(read_checkpoint(path).model.own_mixer);

  LanguageModel plain = loud_model(small_transformer_xl());
  CHECK(logits_of(plain) != logits_of(model));
  CHECK(refusal([&] { make_model(example(plain), "file", make_short_attention); }) ==
        "file: the maker of an own mixer for a model that has none");
}

TEST_CASE("checkpoint: an own mixer has its values as it is made") {
  // A constant of a mixer is no parameter, so no file has it.
  struct Shifted : ShortAttention {
    Tensor shift = constant_parameter({16}, 2).detach();
    using ShortAttention::ShortAttention;
    Tensor forward(const Tensor& x, const Past& past, Context& context) const override {
      return ShortAttention::forward(x, past, context) + shift;
    }
  };
  auto maker = [](Random& random) {
    return std::make_unique<Shifted>(TransformerXLAttentionConfig{}, Width{16, 2}, random);
  };
  Random random;
  LanguageModel model(small_transformer_xl(), random, maker);
  CHECK(logits_of(make_model(example(model), "file", maker)) == logits_of(model));
}

TEST_CASE("checkpoint: what could not be read back is not written") {
  TemporaryFolder folder;
  std::string path = folder.file("model");
  const Checkpoint good = example(loud_model(small_transformer_xl()));
  write_checkpoint(path, good);
  SafeTensors before = read_safetensors(path);
  auto refused = [&](auto damage) {
    Checkpoint checkpoint = good;
    damage(checkpoint);
    std::string reason = refusal([&] { write_checkpoint(path, checkpoint); });
    CHECK(read_safetensors(path) == before);
    CHECK(reason.starts_with(path + ": "));
    return reason.substr(std::min(reason.size(), path.size() + 2));
  };
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.vocabulary.clear(); }) ==
        "a vocabulary of 0 tokens for a model with vocab_size 7");
  CHECK(refused([](Checkpoint& checkpoint) {
          checkpoint.vocabulary.clear();
          checkpoint.model.vocab_size = 0;
        }) == "language_model: vocab_size 0, expected at least 1");
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.vocabulary[0] = 32; }) ==
        "vocabulary: 32 stands twice");
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.vocabulary[0] = -1; }) ==
        "vocabulary: -1, expected a character's code");
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.state.step = -1; }) ==
        "step -1, expected a number of updates");
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.training = "[]"; }) ==
        "training is not a JSON object");
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.weights.erase("output.bias"); }) ==
        "missing tensors \"output.bias\"");
  CHECK(refused([](Checkpoint& checkpoint) { checkpoint.model.d_inner = 8; }) ==
        "tensor \"blocks.0.feed_forward.up.weight\": [24, 16], expected [8, 16]");
}

TEST_CASE("checkpoint: paths that cannot be written leave nothing behind") {
  TemporaryFolder folder;
  Checkpoint checkpoint = example(loud_model(small_transformer_xl()));
  std::string path = folder.file("absent/model");
  CHECK(refusal([&] { write_checkpoint(path, checkpoint); }).starts_with(path + ": "));
  CHECK(folder.entries() == 0);
}
