#pragma once

// Cases for examples/apps/run_layer, and the program as a function of them.

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/io/safetensors.h"
#include "core/io/tensor_file.h"
#include "tests/support/oracles/input.h"
#include "tests/support/temporary_folder.h"

namespace shiftgrad::test {

/// What one run of the program came to.
struct Outcome {
  int status = 0;
  std::string error;                  // all of standard error
  std::optional<SafeTensors> answer;  // what it wrote, if it did
  int64_t files = 0;                  // in the answer's folder
};

/// run_layer or run_layer_f64, whichever is of this build's precision. It lies beside the tests.
inline std::string run_layer_program() {
  std::filesystem::path tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return tests / "../examples/apps/run_layer" /
         (sizeof(Scalar) == 4 ? "run_layer" : "run_layer_f64");
}

/// Runs the program with these arguments, its errors going to a file in `folder`.
inline Outcome run_program(const TemporaryFolder& folder, const std::string& arguments) {
  std::string command = run_layer_program() + " " + arguments + " 2> " + folder.file("errors");
  int status = std::system(command.c_str());
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.error = read_text(folder.file("errors"));
  return outcome;
}

/// Runs the program on a case file that lies at `path`.
inline Outcome run_case_file(const std::string& path) {
  TemporaryFolder errors, answers;
  std::string out = answers.file("out.safetensors");
  Outcome outcome = run_program(errors, path + " " + out);
  outcome.files = answers.entries();
  if (outcome.files > 0) outcome.answer = read_safetensors(out);
  return outcome;
}

inline Outcome run_case(const SafeTensors& given) {
  TemporaryFolder folder;
  std::string path = folder.file("case.safetensors");
  write_safetensors(path, given);
  return run_case_file(path);
}

/// A case of a layer with the parameters of a module.
inline SafeTensors make_case(const std::string& layer, const std::string& config,
                             const Module& module) {
  SafeTensors given;
  given.metadata = {{"layer", layer}, {"config", config}};
  for (const Parameter& parameter : parameters(module))
    given.tensors["param." + parameter.name] = stored(parameter.value);
  return given;
}

/// Adds the input's tensors and a cotangent of the output.
inline void add_input(SafeTensors& given, const Input& input, const Tensor& cotangent) {
  given.tensors["input.x"] = stored(input.x.tensor());
  if (input.memory.defined()) given.tensors["input.memory"] = stored(input.memory.tensor());
  if (input.context.defined()) given.tensors["input.context"] = stored(input.context.tensor());
  if (input.padding) given.tensors["input.key_padding_mask"] = stored(*input.padding);
  if (input.hidden) given.tensors["input.attention_mask"] = stored(*input.hidden);
  given.tensors["grad_output"] = stored(cotangent);
}

}  // namespace shiftgrad::test
