#pragma once

// What the programs of this folder share: flags, a small model on the bytes of a text, and how it
// is trained.

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/program.h"
#include "examples/apps/runs/text.h"
#include "optim/shiftgrad.h"

namespace claims {

/// Flags that all programs have.
struct SmallTraining {
  std::string data;
  int64_t max_iters = 600;
  uint64_t seed = 1;
  int threads = 0;

  void add_flags(CLI::App& program) {
    using namespace apps;
    set_required(add_flag(program, "data", data, "FILE", "text file"));
    add_flag(program, "max_iters", max_iters, "STEPS", "steps to train for", range::one_or_more);
    add_flag(program, "seed", seed, "NUMBER", "seed of the weights and the batches");
    add_flag(program, "threads", threads, "THREADS", apps::threads_help, range::thread_count);
  }

  /// Returns the bytes of the text file, each a token.
  std::vector<int32_t> text() const {
    std::vector<int32_t> tokens;
    for (unsigned char byte : apps::read_text(data)) tokens.push_back(byte);
    return tokens;
  }

  shiftgrad::TrainerConfig config() const {
    return {.max_iters = max_iters,
            .learning_rate = 4e-3,
            .eval_interval = max_iters,
            .eval_iters = 1,
            .seed = seed};
  }
};

/// Returns a model of four layers, whose mixer and positions are for the program to choose.
inline shiftgrad::LanguageModelConfig small_model() {
  return {.vocab_size = 256,
          .d_model = 64,
          .n_layer = 4,
          .n_head = 4,
          .d_inner = 256,
          .activation = shiftgrad::Activation::gelu,
          .tie_embedding = true};
}

/// Runs a program that has the flags of a training and, by `add_own_flags`, its own. `bits` trains
/// on the text and returns the bits per character to print.
inline int run(const char* name, const char* description, SmallTraining& training,
               const std::function<void(CLI::App&)>& add_own_flags,
               const std::function<double(const std::vector<int32_t>& text)>& bits, int count,
               char** arguments) {
  apps::keep_standard_streams();
  shiftgrad::initialize();
  std::shared_ptr<CLI::App> program = apps::make_program(description, name);
  training.add_flags(*program);
  add_own_flags(*program);
  auto prepare = [&] {
    return [&, threads = apps::limit_threads(training.threads), text = training.text()] {
      std::cout << bits(text) << " bits per character\n";
    };
  };
  return apps::run_program(*program, {{program.get(), prepare}}, count, arguments);
}

}  // namespace claims
