#include "nn/models/module_file.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/io/float_types.h"
#include "core/io/tensor_file.h"
#include "core/machine/allocator.h"
#include "nn/linear.h"
#include "nn/state_dict.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

namespace {

/// A module that is no model.
struct TwoLayers : Module {
  Linear up, down;
  explicit TwoLayers(uint64_t seed, int64_t width = 4) {
    Random random{.seed = seed};
    up = Linear(3, width, true, random);
    down = Linear(width, 2, true, random);
  }
  void visit(Visitor& visitor) const override {
    visitor("up", up);
    visitor("down", down);
  }
};

constexpr const char* config = R"({"width":4})";

/// Writes the file anew, with floats of the width that this build does not have.
void change_width(const std::string& path) {
  SafeTensors content = read_safetensors(path);
  content.tensors = with_type(content.tensors, sizeof(Scalar) == 4 ? DType::f64 : DType::f32);
  write_safetensors(path, content);
}

}  // namespace

TEST_CASE("any module comes back from its file, with the state of its run") {
  TemporaryFolder folder;
  TwoLayers module(1), other(2);
  save(module, folder.file("m"), config, {.step = 7, .train_loss = 0.5});
  RunState state = load(other, folder.file("m"), config);
  CHECK(state_dict(other) == state_dict(module));
  CHECK(state.step == 7);
  CHECK(state.train_loss == 0.5);
  save(module, folder.file("plain"));
  TwoLayers third(3);
  load(third, folder.file("plain"));
  CHECK(state_dict(third) == state_dict(module));
}

TEST_CASE("a file of another module is refused, and changes nothing") {
  TemporaryFolder folder;
  std::string path = folder.file("m");
  TwoLayers module(1), wide(2, 5);
  auto before = state_dict(wide);
  save(module, path, config);
  CHECK(refusal([&] { load(wide, path, R"({"width":5,"depth":1})"); }) ==
        path + ": a model of the config depth none, expected 1; width 4, expected 5");
  CHECK(refusal([&] { load(wide, path); }) ==
        path + ": a model of the config width 4, expected none");
  CHECK(refusal([&] { load(wide, path, config); }) ==
        path + ": tensor \"up.weight\": [4, 3], expected [5, 3]");
  CHECK(refusal([&] { load(wide, path, "7"); }) == "load: config is not a JSON object");
  CHECK(refusal([&] { save(wide, path, "{"); }) ==
        path + ": config: not JSON: a mistake at byte 2");
  CHECK(state_dict(wide) == before);
  CHECK(refusal([&] { load(wide, folder.file("none")); }) ==
        folder.file("none") + ": no such file");
}

TEST_CASE("floats of another width are read when they are asked for") {
  TemporaryFolder folder;
  std::string path = folder.file("m");
  TwoLayers module(1), other(2);
  save(module, path, config);
  change_width(path);
  std::string found = sizeof(Scalar) == 4 ? "F64, expected F32" : "F32, expected F64";
  CHECK(refusal([&] { load(other, path, config); }) ==
        path + ": tensor \"down.bias\": " + found + "; FloatWidth::any rounds");
  load(other, path, config, FloatWidth::any);
  change_width(path);
  TwoLayers rounded(3);
  load(rounded, path, config, FloatWidth::any);
  CHECK(state_dict(rounded) == state_dict(other));
  // A float becomes a double and comes back as it was.
  if (sizeof(Scalar) == 4) CHECK(state_dict(other) == state_dict(module));
}

namespace {

/// The number of kB that the system gives under this name, such as VmRSS, for the process.
int64_t kilobytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  return 0;
}

/// Returns how many bytes of the process were in memory at most while it did this, beyond those
/// before; nothing where the system does not say.
std::optional<int64_t> most_beyond(auto action) {
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) return std::nullopt;
  int64_t before = kilobytes("VmRSS");
  action();
  return 1024 * (kilobytes("VmHWM") - before);
}

}  // namespace

TEST_CASE("a file is written from where the values lie, and read into where they belong") {
  if (!allocator_caches()) return;
  TemporaryFolder folder;
  std::string path = folder.file("m");
  TwoLayers module(1, 4'000'000), other(2, 4'000'000);
  constexpr int64_t size = int64_t{6} * 4'000'000 * sizeof(Scalar);
  auto saving = most_beyond([&] { save(module, path, "{}", {.trainer = state_view(other)}); });
  CHECK(static_cast<int64_t>(std::filesystem::file_size(path)) > 2 * size);
  if (!saving) return;
  CHECK(*saving < size / 4);
  CHECK(*most_beyond([&] { load(other, path); }) < size / 4);
  CHECK(state_view(other) == state_view(module));
}

TEST_CASE("state_view has the values of the module, and state_dict those of now") {
  TwoLayers module(1), other(2);
  auto view = state_view(module), copy = state_dict(module);
  CHECK(view == copy);
  load_state_dict(module, state_dict(other), "other");
  CHECK(view == state_dict(other));
  CHECK(view != copy);
  view.clear();
}
