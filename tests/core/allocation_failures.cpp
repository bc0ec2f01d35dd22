// Memory that runs out in the middle of a training step: each allocation of a step fails once. What
// is left behind must not be recorded, and the next update works.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "nn/models/language_model.h"
#include "ops/loss.h"
#include "optim/optimizer.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;

namespace {

/// Number of allocations until one fails; negative for none. With `lasting`, all later ones fail.
std::atomic<int64_t> until_failure = -1;
std::atomic<bool> lasting = false;

bool fails() {
  int64_t left = until_failure.load();
  if (left < 0) return false;
  if (left == 0) {
    if (!lasting) until_failure = -1;
    return true;
  }
  until_failure = left - 1;
  return false;
}

/// Lets allocations fail while it lives.
struct Failing {
  Failing(int64_t number, bool for_ever) {
    lasting = for_ever;
    until_failure = number;
  }
  ~Failing() { until_failure = -1; }
};

/// Makes the gradients of a loss and the update.
void train(const LanguageModel& model, Optimizer& optimizer, const Tokens& tokens) {
  optimizer.zero_gradients();
  Context context{.training = true};
  Tape tape;
  tape.backward(cross_entropy(model(tokens, Memory(), context).logits, tokens));
  optimizer.step(1e-3);
}

/// What a step that fails at allocation number `number` leaves recorded, or null; `ended` when none
/// failed.
const char* left_behind(const LanguageModel& model, Optimizer& optimizer, const Tokens& tokens,
                        int64_t number, bool for_ever, bool& ended) {
  try {
    Failing failing(number, for_ever);
    train(model, optimizer, tokens);
    ended = until_failure >= 0;
  } catch (const std::bad_alloc&) {
  } catch (const Error&) {
  }
  for (const Parameter& parameter : parameters(model))
    if (parameter.value.recorded()) return "a parameter is recorded for good";
  if (Tape::current()) return "a tape lives on";
  try {
    train(model, optimizer, tokens);
  } catch (const std::exception& error) {
    static std::string reason;
    reason = error.what();
    return reason.c_str();
  }
  return nullptr;
}

}  // namespace

TEST_CASE("memory that runs out in a step leaves nothing recorded, and the next update works") {
  LanguageModel model = loud_model(small_transformer_xl());
  model.config.dropout = 0.1;
  Optimizer optimizer(parameters(model), AdamW{});
  std::vector<int32_t> text = random_text(6, 7);
  Tokens tokens{{2, 3}, text};
  train(model, optimizer, tokens);
  for (bool for_ever : {false, true}) {
    bool ended = false;
    int64_t number = 0;
    for (; !ended && number < 20000; ++number) {
      const char* left = left_behind(model, optimizer, tokens, number, for_ever, ended);
      REQUIRE_MESSAGE(!left, "allocation ", number, ": ", std::string(left ? left : ""));
    }
    // A step of this model makes some hundreds.
    CHECK(ended);
    CHECK(number > 100);
  }
}

// Replaced for the whole program, the library included.
void* operator new(size_t bytes) {
  void* block = fails() ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (!block) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
