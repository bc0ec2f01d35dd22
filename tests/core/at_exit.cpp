// Training, scoring and writing after main, and as a thread ends: in a function of atexit, in the
// destructors of statics that were made before the library was first used and after, and in those
// of thread_locals that are older than the library's own. Each finds the bits that main found.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "core/tape.h"
#include "nn/models/generate.h"
#include "optim/evaluate.h"
#include "optim/trainer.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

namespace {

/// Everything that a new model does at some time.
struct Results {
  std::vector<double> losses;
  std::vector<Scalar> gradient;
  std::vector<int32_t> written;
  double nats = 0;
  bool operator==(const Results&) const = default;
};

Results results() {
  Results found;
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(200, 7);
  Trainer trainer(model, text, {}, streams(8));
  for (int step = 0; step < 2; ++step) found.losses.push_back(trainer.step().loss);
  Tensor x = Tensor::from({3}, {1, 2, 3}).require_gradient();
  Tape outer;
  {
    Tape tape;
    tape.backward(x * x, Tensor::full({3}, 1));
  }
  found.gradient = x.gradient().values();
  found.written = generate(model, {1, 2, 3}, {.length = 8});
  found.nats = evaluate(model, text).nats;
  return found;
}

/// What main found, never destroyed.
const Results*& expected() {
  static const Results* found = nullptr;
  return found;
}

/// How many places came to be.
int places = 0;

void check(const char* place) try {
  if (results() != *expected()) throw Error("other bits");
  ++places;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", place, error.what());
  _exit(1);
}

struct Checks {
  const char* place;
  ~Checks() { check(place); }
};

/// Ends after all else that is made here, and says whether all of it came to be.
struct Last {
  ~Last() {
    check("the first static");
    std::printf("%d places\n", places);
    if (places != 9) _exit(1);
  }
} last;

Checks first_static{"a static made before the library's first use"};

/// A tape that outlives its thread, and ends in a later place.
std::unique_ptr<Tape>& left_tape() {
  static auto* left = new std::unique_ptr<Tape>;
  return *left;
}

/// In a thread, the older thread_local ends after those of the library.
void work_and_end() {
  thread_local Checks older{"a thread_local made before the library's first use in its thread"};
  if (results() != *expected()) _exit(1);
  thread_local Checks newer{"a thread_local made after it"};
  left_tape() = std::make_unique<Tape>();
}

}  // namespace

int main() {
  thread_local Checks before{"a thread_local of main made before the library's first use"};
  std::atexit([] { check("a function of atexit, the first"); });
  const Results found = results();
  expected() = new Results(found);
  static Checks after{"a static made after it"};
  std::thread(work_and_end).join();
  left_tape().reset();
  std::atexit([] { check("a function of atexit, the last"); });
  thread_local Checks main_after{"a thread_local of main made after it"};
}
