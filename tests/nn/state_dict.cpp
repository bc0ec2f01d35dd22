#include "nn/state_dict.h"

#include "core/io/tensor_file.h"
#include "core/machine/allocator.h"
#include "core/tape.h"
#include "nn/linear.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;

namespace {

Linear linear_of(Scalar start) {
  Random random;
  Linear module(2, 3, true, random);
  for (const Parameter& parameter : parameters(module))
    for (int64_t i = 0; i < parameter.value.count(); ++i)
      parameter.value.mutable_data()[i] = start + static_cast<Scalar>(i);
  return module;
}

/// Two parts of one storage.
struct Parts : Module {
  Tensor a, b;

  explicit Parts(int axis) {
    Tensor all = Tensor::zeros({4, 6});
    a = slice(all, axis, 0, 1);
    b = slice(all, axis, 1, all.size(axis));
  }
  void visit(Visitor& visitor) const override {
    visitor("a", a);
    visitor("b", b);
  }
};

}  // namespace

TEST_CASE("parts of one storage are saved and loaded, with gaps or without") {
  for (int axis : {0, 1}) {
    Parts from(axis), to(axis);
    int64_t n = 0;
    for (const Tensor& part : {from.a, from.b})
      for (int64_t i = 0; i < part.size(0); ++i)
        for (int64_t j = 0; j < part.size(1); ++j)
          *select(select(part, 0, i), 0, j).mutable_data() = static_cast<Scalar>(++n);
    load_state_dict(to, state_dict(from), "test");
    CHECK(parameters(to).size() == 2);
    CHECK(to.a.values() == from.a.values());
    CHECK(to.b.values() == from.b.values());
  }
}

TEST_CASE("state_dict: one entry a parameter, a tied one under its owner's name") {
  LanguageModelConfig config = small_transformer_xl();
  config.tie_embedding = true;
  LanguageModel model = loud_model(config);
  std::map<std::string, StoredTensor> tensors = state_dict(model);
  CHECK(tensors.size() == parameters(model).size());
  for (const Parameter& parameter : parameters(model))
    CHECK(tensors.at(parameter.name) == stored(parameter.value));
  CHECK(tensors.contains("embedding.weight"));
  CHECK(!tensors.contains("output.weight"));
}

TEST_CASE("state_dict: values come back in the same storage") {
  Linear from = linear_of(1), to = linear_of(100);
  Tensor handle = to.weight;
  load_state_dict(to, state_dict(from), "file");
  CHECK(to.weight.shares_storage(handle));
  CHECK(to.weight.values() == from.weight.values());
  CHECK(to.bias.values() == from.bias.values());
  CHECK(to.weight.requires_gradient());
  from.weight.mutable_data()[0] = 7;
  CHECK(to.weight.data()[0] == 1);
}

TEST_CASE("state_dict: a recorded parameter refuses all of them") {
  Linear module = linear_of(1);
  std::vector<Scalar> before = module.weight.values();
  Tape tape;
  Tensor recorded = module.bias + module.bias;
  CHECK(refusal([&] { load_state_dict(module, state_dict(linear_of(100)), "file"); }) ==
        "file: in-place write: a tensor of shape [3] is recorded on a live tape");
  CHECK(module.weight.values() == before);
}

TEST_CASE("state_dict: nothing but the values is copied") {
  Random random;
  Linear large(1000, 1000, true, random);
  std::map<std::string, StoredTensor> tensors = state_dict(large);
  reset_peak();
  int64_t before = allocator_counters().bytes_in_use;
  load_state_dict(large, tensors, "file");
  CHECK(allocator_counters().peak_bytes_in_use - before < 1'000'000);
}

TEST_CASE("state_dict: what does not fit is named, and nothing is loaded") {
  Linear module = linear_of(1);
  std::vector<Scalar> before = module.weight.values();
  auto refused = [&](auto damage) {
    std::map<std::string, StoredTensor> tensors = state_dict(linear_of(100));
    damage(tensors);
    std::string reason = refusal([&] { load_state_dict(module, tensors, "file"); });
    CHECK(module.weight.values() == before);
    return reason;
  };
  CHECK(refused([](auto& tensors) { tensors.erase("bias"); }) == "file: missing tensors \"bias\"");
  CHECK(refused([](auto& tensors) { tensors["scale"]; }) == "file: unexpected tensors \"scale\"");
  CHECK(refused([](auto& tensors) {
          tensors.clear();
          for (const char* name : {"a", "b", "c", "d", "e\n"}) tensors[name];
        }) ==
        "file: missing tensors \"weight\", \"bias\"; "
        "unexpected tensors \"a\", \"b\", \"c\", \"d\" and 1 more");
  CHECK(refused([](auto& tensors) { tensors["bias"] = stored(Tensor::zeros({2})); }) ==
        "file: tensor \"bias\": [2], expected [3]");
  CHECK(refused([](auto& tensors) {
          tensors["weight"].shape = {3, 2, 1};
        }) == "file: tensor \"weight\": [3, 2, 1], expected [3, 2]");
  CHECK(refused([](auto& tensors) {
          tensors["weight"].dtype = DType::i16;
        }).starts_with("file: tensor \"weight\": I16, expected F"));
}

TEST_CASE("state dict: a tied parameter has a place under its owner's name alone") {
  struct Tied : Module {
    Linear first = linear_of(1), second = first;
    void visit(Visitor& visitor) const override {
      visitor("first", first);
      visitor("second", second);
    }
  } tied;
  std::map<std::string, StoredTensor> tensors = state_dict(tied);
  tensors["second.weight"] = tensors.at("first.weight");
  CHECK(refusal([&] { load_state_dict(tied, tensors, "file"); }) ==
        "file: unexpected tensor \"second.weight\": this model ties it to first.weight");
}
