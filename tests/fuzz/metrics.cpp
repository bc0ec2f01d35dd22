// libFuzzer's target for metrics.jsonl. What is in it is drawn, or refused in one line, and a
// training that goes on keeps only whole lines of it.

#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/fuzz/expect.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/programs.h"
#include "tests/fuzz/trainings.h"
#include "tests/fuzz/working_folder.h"
#include "tests/support/temporary_folder.h"

using fuzz::expect;
using fuzz::json;

namespace {

constexpr const char* course =
    R"({"step":1,"loss":1.5,"learning_rate":0.001,"gradient_norm":2,"tokens_per_second":9,"seconds":1}
{"step":1,"train_loss":1.25,"validation_loss":1.375}
{"step":1,"exact_match":0.5,"edit_rate":0.25,"samples":[["a","b","b"]],"attended":{"title":"t","row_title":"head","rows":["0.0"],"tokens":["a","b"],"thousandths":[400,600]}}
{"step":2,"loss":1.25,"learning_rate":0.001,"gradient_norm":1,"tokens_per_second":8,"seconds":1}
{"step":2,"train_loss":1.125,"validation_loss":1.25}
)";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream parts(text);
  for (std::string line; std::getline(parts, line);) lines.push_back(line);
  return lines;
}

/// Another line for one. One that is no JSON any more becomes one that a training writes.
std::string changed(const std::string& line, fuzz::Choices& choices) {
  json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return choices.of(lines_of(course));
  fuzz::change(value, choices);
  return fuzz::dumped(value);
}

/// Ends the process if what was drawn has a place or a size that is no number.
void expect_finite(const std::string& drawn) {
  auto is_letter = [&](size_t place) {
    return place < drawn.size() && std::isalpha(static_cast<unsigned char>(drawn[place]));
  };
  for (const char* word : {"nan", "inf"})
    for (size_t at = drawn.find(word); at != drawn.npos; at = drawn.find(word, at + 1))
      expect(is_letter(at - 1) || is_letter(at + 3), "finite numbers in a picture");
}

void draw() {
  using fuzz::run;
  run("char_lm", {"plot", "lm", "--out=loss.svg"});
  fuzz::Outcome numbers = run("char_lm", {"plot", "lm", "--json"});
  expect(numbers.status != 0 || json::accept(numbers.output), "JSON of a plot");
  run("char_lm", {"report", "lm", "--out=lm.html", "--length=3", "--tokens=4", "--threads=1"});
  run("seq2seq", {"report", "pairs", "--out=pairs.html", "--threads=1"});
  for (const char* file : {"loss.svg", "lm.html", "pairs.html"}) expect_finite(read_text(file));
}

/// After the second step a training takes a third, whatever the metrics say.
void go_on(const char* program, const std::string& folder) {
  fuzz::Outcome resumed = fuzz::run(
      program, {"train", "--resume", "--out_dir=" + folder, "--max_iters=3", "--threads=1"});
  expect(resumed.status == 0, "a training to go on");
  for (const std::string& line : lines_of(read_text(folder + "/metrics.jsonl")))
    expect(json::parse(line).at("step") <= 3, "only lines of the steps that were taken");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::start_in_empty_folder();
  fuzz::write_training_text();
  fuzz::expect_training("char_lm", "lm");
  fuzz::expect_training("seq2seq", "pairs");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Files before = fuzz::files();
  fuzz::restore(before);
  for (const char* folder : {"lm", "pairs"})
    write_text(std::string(folder) + "/metrics.jsonl", {reinterpret_cast<const char*>(data), size});
  draw();
  go_on("char_lm", "lm");
  go_on("seq2seq", "pairs");
  return 0;
}

/// Changes a line as JSON, or which lines there are; now and then a byte.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned seed) {
  fuzz::Choices choices(seed);
  if (size > 0 && choices.once_in(10)) return LLVMFuzzerMutate(data, size, longest);
  std::vector<std::string> lines = lines_of({reinterpret_cast<const char*>(data), size});
  if (lines.empty()) lines = lines_of(course);
  size_t place = choices.below(lines.size());
  if (choices.once_in(6))
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(place));
  else if (choices.once_in(6))
    lines.push_back(lines[place]);
  else if (choices.once_in(6))
    std::swap(lines[place], lines.back());
  else
    lines[place] = changed(lines[place], choices);
  std::string mutated;
  for (const std::string& each : lines) mutated += each + '\n';
  return fuzz::put(mutated, data, longest);
}
