// How long tapes and pauses live, in which order they end, and on which threads.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "core/tape.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "tests/support/recorded.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("a pause suspends recording while it lives") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  {
    Tape::Pause pause;
    CHECK(Tape::current() == nullptr);
    CHECK_FALSE(exp(x).requires_gradient());
    {
      // A tape inside the pause records, and gives the pause back.
      Tape inner;
      inner.backward(x * x, cotangent_of_ones());
    }
    CHECK(Tape::current() == nullptr);
    Tape::Pause again;
  }
  CHECK(tape.size() == 0);
  CHECK(Tape::current() == &tape);
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
}

TEST_CASE("tapes nest: the innermost records") {
  Tensor x = parameter({1, 2, 3}), z = parameter({4, 5, 6});
  Tape outer;
  Tensor y = x * x;
  {
    Tape inner;
    CHECK(Tape::current() == &inner);
    Tensor w = z * z;
    CHECK(outer.size() == 1);
    CHECK(inner.size() == 1);
    inner.backward(w, cotangent_of_ones());
    CHECK(z.gradient().values() == Scalars{8, 10, 12});
    CHECK_FALSE(x.gradient().defined());
  }
  CHECK(Tape::current() == &outer);
  outer.backward(y, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
  CHECK(z.gradient().values() == Scalars{8, 10, 12});
}

TEST_CASE("each thread has its own tape") {
  Tape tape;
  Tape* of_other = &tape;
  std::thread([&] { of_other = Tape::current(); }).join();
  CHECK(of_other == nullptr);
}

TEST_CASE("tapes and pauses end in any order") {
  Tensor x = parameter({1, 2, 3});
  auto pass = [&](Tape& tape) { tape.backward(x * x, cotangent_of_ones()); };
  // A member that is replaced in each step: the new one is made before the old one ends.
  std::unique_ptr<Tape> tape;
  for (int step = 0; step < 5; ++step) {
    tape = std::make_unique<Tape>();
    CHECK(Tape::current() == tape.get());
    pass(*tape);
  }
  tape.reset();
  CHECK(Tape::current() == nullptr);
  // A list that ends from its front.
  std::vector<std::unique_ptr<Tape>> tapes(4);
  for (auto& one : tapes) one = std::make_unique<Tape>();
  for (size_t ended : {size_t{1}, size_t{3}, size_t{0}}) {
    tapes[ended].reset();
    CHECK(Tape::current() == (tapes[3] ? tapes[3].get() : tapes[2].get()));
  }
  pass(*tapes[2]);
  tapes.clear();
  CHECK(Tape::current() == nullptr);
  CHECK_FALSE((x * x).requires_gradient());
  // Pauses between them.
  auto outer = std::make_unique<Tape>();
  auto pause = std::make_unique<Tape::Pause>();
  auto inner = std::make_unique<Tape>();
  auto second = std::make_unique<Tape::Pause>();
  pause.reset();
  CHECK(Tape::current() == nullptr);
  outer.reset();
  second.reset();
  CHECK(Tape::current() == inner.get());
  inner.reset();
  CHECK(Tape::current() == nullptr);
}

TEST_CASE("a tape may end on another thread") {
  Tensor x = parameter({1, 2, 3});
  auto outer = std::make_unique<Tape>(), inner = std::make_unique<Tape>();
  Tensor y = x * x;
  std::thread([&] {
    Tape own;
    inner.reset();
    CHECK(Tape::current() == &own);
  }).join();
  CHECK(Tape::current() == outer.get());
  CHECK_FALSE(x.recorded());
  outer->backward(x * x, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
  // And after the thread that made it.
  std::unique_ptr<Tape> left;
  std::thread([&] { left = std::make_unique<Tape>(); }).join();
  left.reset();
}

TEST_CASE("a recording may end before its tape") {
  Tensor x = parameter({1, 2, 3});
  Tape outer, tape;
  Tensor y = x * x;
  tape.stop_recording();
  CHECK(Tape::current() == &outer);
  exp(x);
  CHECK(tape.size() == 1);
  CHECK(outer.size() == 1);
  tape.backward(y, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
}

TEST_CASE("a second thread is refused what a live tape learns, before anything is touched") {
  Tensor x = parameter({1, 2, 3}), other = parameter({4, 5, 6}), constant = Tensor::full({3}, 2);
  auto elsewhere = [](const std::function<void()>& action) { std::thread(action).join(); };
  {
    Tape tape;
    Tensor y = x * constant;
    elsewhere([&] {
      Tape second;
      CHECK(
          refusal([&] {
            concat({other, x}, 0);
          }) ==
          "tape: a tensor of shape [3] is recorded on a live tape of another thread; expected one "
          "thread at a time to train it");
      CHECK(second.size() == 0);
      CHECK_FALSE(other.recorded());
      // What does not learn, or what nobody else has, is no trouble.
      second.backward(other * constant, cotangent_of_ones());
      CHECK(other.gradient().values() == Scalars{2, 2, 2});
    });
    elsewhere([&] { CHECK((x * x).values() == Scalars{1, 4, 9}); });  // no tape
    tape.backward(y, cotangent_of_ones());
    CHECK_FALSE(x.recorded());
    // After the backward pass, though the tape lives on.
    elsewhere([&] {
      Tape second;
      second.backward(x * constant, cotangent_of_ones());
    });
  }
  CHECK(x.gradient().values() == Scalars{4, 4, 4});
  x.mutable_data();
  other.mutable_data();
}

TEST_CASE("of threads that train one tensor at a time, each pass is whole or refused") {
  Tensor x = parameter({1, 2, 3});
  std::vector<std::thread> threads;
  std::atomic<int> passes = 0;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      for (int step = 0; step < 200; ++step) try {
          Tape tape;
          Tensor y = exp(x);
          for (int more = 0; more < 10; ++more) y = y * x;
          ++passes;
        } catch (const Error&) {
        }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(passes > 0);
  CHECK_FALSE(x.recorded());
  x.mutable_data();
}
