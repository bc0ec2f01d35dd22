// Forks of a process whose other threads allocate, compute and record: each child allocates and
// trains, gets the parent's bits, and ends.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <locale>
#include <thread>
#include <vector>

#include "core/machine/allocator.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "optim/trainer.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

namespace {

/// The loss of a training's second step.
double second_loss() {
  LanguageModel model = new_model(small_transformer_xl());
  std::vector<int32_t> text = random_text(200, 7);
  Trainer trainer(model, text, {}, streams(8));
  trainer.step();
  return trainer.step().loss;
}

/// Forks a child that ends by `end` with the status that `work` returns, and returns its status, or
/// -1 for a child that has not ended after this process, whose threads work meanwhile, has taken
/// two minutes of CPU time.
int status_of_child(int (*work)(), void (*end)(int)) {
  std::cout << std::flush;  // which the child would print once more
  pid_t child = fork();
  if (child == 0) end(work());
  const std::clock_t begin = std::clock();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::clock() - begin > 120 * CLOCKS_PER_SEC) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::yield();
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Threads that do something again and again, while it lives.
class Busy {
 public:
  Busy(int count, void (*work)()) {
    for (int n = 0; n < count; ++n)
      threads_.emplace_back([this, work] {
        while (!ended_) work();
      });
  }
  ~Busy() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> threads_{};
};

double loss_of_parent = 0;

int train() { return second_loss() == loss_of_parent ? 0 : 1; }

/// The classic locale, while it lives: every stream that is made in another one takes a lock of the
/// standard library's, which a fork may find held.
struct ClassicLocale {
  std::locale before = std::locale::global(std::locale::classic());
  ~ClassicLocale() { std::locale::global(before); }
};

}  // namespace

TEST_CASE("fork: while other threads allocate, a child allocates and ends") {
  Busy others(3, [] {
    for (size_t bytes : {100, 5000, 300'000}) release(allocate(bytes), bytes);
  });
  auto work = [] {
    for (size_t bytes = 1; bytes < 1'000'000; bytes *= 3) release(allocate(bytes), bytes);
    return 0;
  };
  for (int n = 0; n < 300; ++n) REQUIRE(status_of_child(work, n % 2 == 0 ? _exit : exit) == 0);
}

TEST_CASE("fork: while other threads train, a child trains to the same bits and ends") {
  ClassicLocale classic;
  loss_of_parent = second_loss();
  Busy others(2, [] { second_loss(); });
  for (int n = 0; n < 100; ++n) REQUIRE(status_of_child(train, _exit) == 0);
}

TEST_CASE("fork: while another thread makes limits and recordings, a child makes both") {
  Busy others(2, [] {
    ThreadLimit limit(2);
    Tape tape;
    Tape::Pause pause;
  });
  auto work = [] {
    ThreadLimit limit(3);
    int found = 0;
    with_threads(2, [&] { found = train(); });
    return found;
  };
  ClassicLocale classic;
  loss_of_parent = second_loss();
  for (int n = 0; n < 100; ++n) REQUIRE(status_of_child(work, _exit) == 0);
}

TEST_CASE("fork: a child of a child") {
  auto grandchild = [] { return status_of_child(train, _exit); };
  loss_of_parent = second_loss();
  CHECK(status_of_child(grandchild, _exit) == 0);
}
