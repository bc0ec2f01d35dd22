#include "nn/models/run_file.h"

#include <filesystem>
#include <numeric>

#include "core/io/tensor_file.h"
#include "nn/models/checkpoint.h"
#include "nn/models/module_file.h"
#include "nn/state_dict.h"
#include "tests/support/own_model.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("save: a model of one's own comes back whole, with the state of its run") {
  TemporaryFolder folder;
  std::string path = folder.file("own");
  OwnModel model = own_model(1), other = own_model(2);
  save(model, path,
       {.step = 12, .validation_loss = 0.25, .trainer = {{"step", stored(Tensor::full({1}, 3))}}});
  RunState state = load(other, path);
  CHECK(state_dict(other) == state_dict(model));
  CHECK(state.step == 12);
  CHECK(!state.train_loss);
  CHECK(state.validation_loss == 0.25);
  CHECK(state.trainer ==
        std::map<std::string, StoredTensor>{{"step", stored(Tensor::full({1}, 3))}});
  CHECK(read_run_file(path).at("model") == R"({"vocab_size": 7})");
}

TEST_CASE("save: a language model is a model, too") {
  TemporaryFolder folder;
  std::string path = folder.file("xl");
  Random random;
  LanguageModel model = loud_model(small_transformer_xl()), other(model.config, random);
  save(model, path);
  load(other, path);
  CHECK(state_dict(other) == state_dict(model));
  CHECK(read_run_file(path).at("model") == model.config_text());
}

TEST_CASE(
    "save: load reads a checkpoint of char_lm, and read_checkpoint says who reads the other") {
  TemporaryFolder folder;
  std::string path = folder.file("checkpoint"), own = folder.file("own");
  Random random;
  LanguageModel model = loud_model(small_transformer_xl()), other(model.config, random);
  std::vector<int32_t> vocabulary(static_cast<size_t>(model.config.vocab_size));
  std::iota(vocabulary.begin(), vocabulary.end(), 32);
  write_checkpoint(path, {.model = model.config,
                          .vocabulary = vocabulary,
                          .state = {.step = 5},
                          .weights = state_dict(model)});
  CHECK(load(other, path).step == 5);
  CHECK(state_dict(other) == state_dict(model));
  CHECK(read_run_file(path).at("model") == model.config_text());
  OwnModel small = own_model(1);
  std::string reason = refusal([&] { load(small, path); });
  CHECK(reason.starts_with(path + ": a model of the config "));
  CHECK(reason.ends_with("; read it with make_model(read_checkpoint(path), path)"));
  save(model, own);
  CHECK(refusal([&] { read_checkpoint(own); }) ==
        own +
            ": has a model's weights, config and run, but no vocabulary (shiftgrad-model-1); read "
            "it with load() or char_lm inspect and report, expected the format shiftgrad-1: a "
            "language model's weights, config, vocabulary and run");
}

TEST_CASE("save: what does not fit is refused, and the model stays as it was") {
  TemporaryFolder folder;
  std::string path = folder.file("own");
  save(own_model(1), path);
  OwnModel larger = own_model(2, 8), model = own_model(2);
  auto before = state_dict(model);
  CHECK(refusal([&] { load(larger, path); }) ==
        path + ": a model of the config vocab_size 7, expected 8");
  SafeTensors content = read_safetensors(path);
  auto refused = [&](auto change) {
    SafeTensors changed = content;
    change(changed);
    write_safetensors(path, changed);
    return refusal([&] { load(model, path); });
  };
  std::string wanted =
      ", expected the format shiftgrad-model-1: a model's weights, config and run, but no "
      "vocabulary";
  CHECK(refused([](auto& c) { c.metadata["format"] = "shiftgrad-seq2seq-1"; }) ==
        path +
            ": has an encoder-decoder's weights, config, symbols and run (shiftgrad-seq2seq-1); "
            "read it with seq2seq or char_lm inspect" +
            wanted);
  CHECK(refused([](auto& c) { c.metadata["format"] = "shiftgrad-9"; }) ==
        path + ": has the format \"shiftgrad-9\"" + wanted);
  CHECK(refused([](auto& c) { c.metadata.clear(); }) ==
        path + ": names no format; read it with char_lm inspect or read_safetensors()" + wanted);
  CHECK(refused([](auto& c) { c.metadata.erase("step"); }) == path + ": no step in the metadata");
  CHECK(refused([](auto& c) { c.metadata["model"] = "[]"; }) ==
        path + ": model is not a JSON object");
  CHECK(refused([](auto& c) { c.tensors.erase("table"); }).starts_with(path + ": "));
  CHECK(state_dict(model) == before);
}

TEST_CASE(
    "save: a file names the version that wrote it, and a newer one's is read as far as it goes") {
  TemporaryFolder folder;
  std::string path = folder.file("own"), own = library_version();
  OwnModel model = own_model(1), other = own_model(2);
  save(model, path);
  CHECK(read_run_file(path).version() == own);
  SafeTensors content = read_safetensors(path);
  auto rewrite = [&](auto change) {
    SafeTensors changed = content;
    change(changed.metadata);
    write_safetensors(path, changed);
  };
  rewrite([](auto& metadata) { metadata.erase("shiftgrad_version"); });
  CHECK(read_run_file(path).version().empty());
  load(other, path);
  rewrite([](auto& metadata) { metadata["shiftgrad_version"] = "100.2.3"; });
  load(other, path);
  CHECK(state_dict(other) == state_dict(model));
  rewrite([](auto& metadata) {
    metadata["shiftgrad_version"] = "100.2.3";
    metadata["model"] = R"({"vocab_size": 7, "news": 1})";
  });
  CHECK(refusal([&] { load(other, path); }) ==
        path +
            ": a model of the config news 1, expected none; written by shiftgrad 100.2.3, which "
            "is newer than this " +
            own);
  rewrite([](auto& metadata) {
    metadata["shiftgrad_version"] = "100.2.3";
    metadata["format"] = "shiftgrad-model-2";
  });
  CHECK(refusal([&] {
          load(other, path);
        }).starts_with(path + ": has the format \"shiftgrad-model-2\", expected the format "));
  CHECK(refusal([&] { load(other, path); }).ends_with("which is newer than this " + own));
}

TEST_CASE("newer_writer: numbers are compared, and what is no version says nothing") {
  std::string own = library_version();
  CHECK(newer_writer("10000.0.0") ==
        "written by shiftgrad 10000.0.0, which is newer than this " + own);
  CHECK(newer_writer("10000.0.0-rc1\n") == newer_writer("10000.0.0"));
  CHECK(!newer_writer(own + "0").empty() == (own.back() != '0'));
  for (std::string version :
       {own, std::string("0.0.9"), std::string("0.0.10"), std::string(""), std::string("10000"),
        std::string("10000."), std::string("10000.0"), std::string("10000.0."),
        std::string("10000.-1.0"), std::string("99999999999.0.0"), std::string("new")})
    CHECK_MESSAGE(newer_writer(version).empty(), version);
}

TEST_CASE("save: what could not be read back is not written") {
  struct NoObject : OwnModel {
    using OwnModel::OwnModel;
    std::string config_text() const override { return "7"; }
  };
  struct TrainersName : OwnModel {
    using OwnModel::OwnModel;
    void visit(Visitor& visitor) const override { visitor("trainer.step", table); }
  };
  TemporaryFolder folder;
  std::string path = folder.file("own");
  Random random;
  CHECK(refusal([&] { save(NoObject(7, random), path); }) ==
        path + ": own: config_text is not a JSON object");
  CHECK(refusal([&] { save(TrainersName(7, random), path); }) ==
        path + ": parameter \"trainer.step\", but such names are the trainer's");
  CHECK(!std::filesystem::exists(path));
}
