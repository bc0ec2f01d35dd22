#pragma once

// What the programs share: the words behind their names, a model of rows of numbers, a line for
// each evaluation, and one line about a mistake.

#include <shiftgrad/shiftgrad.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

/// What stands behind a program's name.
struct Arguments {
  std::vector<std::string> words;

  /// Returns word n. Throws when there is none.
  const std::string& text(size_t n, const char* name) const {
    shiftgrad::require(n < words.size(), "expected ", name, " as argument ", n + 1);
    return words[n];
  }
  /// Returns the value that word n names.
  template <shiftgrad::Named Enum>
  Enum choice(size_t n, const char* name) const {
    return shiftgrad::in_name_of(name, [&] { return shiftgrad::value_named<Enum>(text(n, name)); });
  }
  /// Returns word n as a whole number from 0 on, or `otherwise` where there is none.
  int64_t number(size_t n, const char* name, int64_t otherwise) const {
    if (n >= words.size()) return otherwise;
    const char *begin = words[n].data(), *end = begin + words[n].size();
    int64_t value = -1;
    bool is_whole = std::from_chars(begin, end, value).ptr == end;
    shiftgrad::require(is_whole && value >= 0, name, " \"", words[n],
                       "\", expected a whole number from 0 on");
    return value;
  }
};

/// Blocks between two linear layers.
struct VectorModel : shiftgrad::Module {
  shiftgrad::Linear input, output;
  shiftgrad::Blocks body;

  VectorModel(int64_t inputs, int64_t outputs, const shiftgrad::BlocksConfig& config,
              shiftgrad::Random& random)
      : input(inputs, config.d_model, true, random),
        output(config.d_model, outputs, true, random),
        body(config, random) {}

  void visit(shiftgrad::Visitor& visitor) const override {
    visitor("input", input);
    visitor("body", body);
    visitor("output", output);
  }
};

/// Runs a program with its arguments, and returns its status. What it throws becomes one line.
inline int run_program(const char* name, int count, char** words,
                       void (*program)(const Arguments&)) try {
  shiftgrad::initialize();
  program({{words + 1, words + count}});
  return 0;
} catch (const std::exception& error) {
  std::cerr << name << ": " << error.what() << '\n';
  return 1;
}

/// Returns what prints the scores of each evaluation, and saves the best model at `path`.
inline shiftgrad::TrainerCallbacks saving_the_best(const shiftgrad::Module& model,
                                                   const std::string& path) {
  return {.on_evaluation = [&model, path](const shiftgrad::EvaluationReport& report) {
    std::cout << "step " << report.step << ": " << report.train.nats << ", validation "
              << report.validation.nats << std::endl;
    if (report.best) save(model, path);
  }};
}
