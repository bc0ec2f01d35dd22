#include "nn/checkpoint.h"

#include <filesystem>

#include "nn/state_dict.h"
#include "refusal.h"
#include "small_models.h"
#include "temporary_folder.h"

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
  return model.forward({{1, 5}, {0, 1, 2, 3, 6}}, Memory{}, context).values();
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
  CHECK(refused("format", "") == "is not a checkpoint of the format shiftgrad-1");
  CHECK(refused("format", "pt") == "is not a checkpoint of the format shiftgrad-1");
  CHECK(refused("format", "shiftgrad-2") ==
        R"(is a checkpoint of the format "shiftgrad-2", of which this version knows nothing, )"
        "expected shiftgrad-1");
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

TEST_CASE("checkpoint: sizes that the weights cannot have") {
  Checkpoint checkpoint = example(loud_model(small_transformer_xl()));
  for (int64_t LanguageModelConfig::*size :
       {&LanguageModelConfig::d_model, &LanguageModelConfig::n_layer,
        &LanguageModelConfig::d_inner}) {
    Checkpoint damaged = checkpoint;
    damaged.model.*size = int64_t{1} << 60;
    CHECK(refusal([&] {
            make_model(damaged, "file");
          }).starts_with("file: a model with a size of 1152921504606846976 cannot have "));
  }
}

TEST_CASE("checkpoint: paths that cannot be written leave nothing behind") {
  TemporaryFolder folder;
  Checkpoint checkpoint = example(loud_model(small_transformer_xl()));
  std::string path = folder.file("absent/model");
  CHECK(refusal([&] { write_checkpoint(path, checkpoint); }).starts_with(path + ": "));
  CHECK(folder.entries() == 0);
}
