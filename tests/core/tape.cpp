#include "core/tape.h"

#include <memory>
#include <thread>

#include "core/accumulate.h"
#include "core/machine/allocator.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/recorded.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("nothing is recorded without a tape, nor for constants") {
  Tensor x = parameter({1, 2, 3}), constant = Tensor::full({3}, 2);
  CHECK(Tape::current() == nullptr);
  CHECK_FALSE((x * x).requires_gradient());
  Tape tape;
  CHECK(Tape::current() == &tape);
  CHECK_FALSE((constant * constant).requires_gradient());
  CHECK(tape.size() == 0);
  CHECK((x * constant).requires_gradient());
  CHECK(tape.size() == 1);
}

TEST_CASE("views are no entries") {
  Tensor x = parameter({1, 2, 3, 4, 5, 6});
  Tape tape;
  Tensor view = slice(transpose(reshape(x, {2, 3})), 0, 0, 3, 2);
  CHECK(tape.size() == 0);
  tape.backward(sum(view * view));
  CHECK(x.gradient().values() == Scalars{2, 0, 6, 8, 0, 12});
}

TEST_CASE("without a tape nothing is kept") {
  Tensor x = Tensor::full({100000}, 1).require_gradient();
  AllocatorCounters before = allocator_counters();
  {
    Tensor y = x;
    for (int n = 0; n < 5; ++n) y = exp(y * x);
  }
  CHECK(allocator_counters().bytes_in_use == before.bytes_in_use);
}

TEST_CASE("backward is refused for an output that another tape recorded, or none") {
  Tensor x = parameter({1, 2, 3});
  const std::string not_here =
      "backward: this tape did not record the output; make the Tape before the forward pass";
  auto loss_with_a_tape_of_its_own = [&] {
    Tape own;
    return sum(x * x);
  };
  {
    Tape tape;
    Tensor loss = loss_with_a_tape_of_its_own();
    CHECK(refusal([&] { tape.backward(loss); }) == not_here);
    CHECK_FALSE(x.gradient().defined());
    // What is refused leaves the tape as it was.
    tape.backward(sum(x));
    CHECK(x.gradient().values() == ones);
  }
  Tensor early = sum(x * x);
  Tape tape;
  CHECK(refusal([&] { tape.backward(early); }) == not_here);
  CHECK(refusal([&] { tape.backward(scale(early, 2)); }) == not_here);
  Tensor paused;
  {
    Tape::Pause pause;
    paused = sum(exp(x));
  }
  CHECK(refusal([&] { tape.backward(paused); }) == not_here);
  Tensor inside;
  {
    Tape inner;
    inside = sum(x * x);
    CHECK(refusal([&] { tape.backward(inside); }) == not_here);
    inner.backward(inside);
  }
  CHECK(refusal([&] { tape.backward(inside); }) == not_here);
}

TEST_CASE("backward says when nothing requires a gradient, and only then") {
  const std::string nothing = "backward: the output depends on nothing that requires a gradient";
  Tensor constant = Tensor::full({3}, 2), x = parameter({1, 2, 3});
  Tape tape;
  CHECK(refusal([&] { tape.backward(sum(constant * constant)); }) == nothing);
  CHECK(refusal([&] { tape.backward(sum(x.detach())); }) == nothing);
  CHECK(refusal([&] { tape.backward(sum(exp(x).detach())); }) == nothing);
  CHECK(refusal([&] { tape.backward(x, Tensor()); }) == "backward: the cotangent is undefined");
}

TEST_CASE("the gradient of a parameter with respect to itself is the cotangent") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  tape.backward(slice(x, 0, 1, 2), Tensor::full({1}, 5));
  CHECK(x.gradient().values() == Scalars{0, 5, 0});
}

TEST_CASE("what was computed from a parameter can become one") {
  Tensor x = parameter({1, 2, 3});
  Tensor start = x * x;
  start.require_gradient();
  Tape tape;
  tape.backward(start, cotangent_of_ones());
  CHECK(start.gradient().values() == ones);
  CHECK_FALSE(x.gradient().defined());
}

TEST_CASE("the leaves of a tape are what requires a gradient and was not made by an op") {
  Tensor x = parameter({1, 2, 3}), constant = Tensor::full({3}, 2);
  Tape tape;
  Tensor y = exp(x) * constant;
  y = y + slice(concat({x, x}, 0), 0, 0, 3);
  std::vector<Tensor> leaves = tape.leaves();
  CHECK(leaves.size() == 3);
  for (const Tensor& leaf : leaves) CHECK(leaf.shares_storage(x));
}

TEST_CASE("backward runs through the entries from the last to the first") {
  Tensor x = parameter({1, 2, 3});
  std::vector<int> order;
  Tape tape;
  Tensor y = x;
  for (int n = 0; n < 3; ++n) {
    Tensor next = exp(y);
    record(next, {&y}, [&order, n](const Tensor&) { order.push_back(n); });
    y = next;
  }
  tape.backward(y, cotangent_of_ones());
  CHECK(order == std::vector<int>{2, 1, 0});
}

TEST_CASE("backward frees each entry and what it saved on the way") {
  Tensor x = parameter({1, 2, 3});
  auto first = std::make_shared<int>(1), second = std::make_shared<int>(2);
  std::weak_ptr<int> of_first = first, of_second = second;
  bool alive_below = false, freed_above = false;
  Tape tape;
  Tensor y = x * x;
  record(y, {&x}, [first, &alive_below, &freed_above, of_second](const Tensor&) {
    alive_below = *first == 1;
    freed_above = of_second.expired();
  });
  Tensor z = y * y;
  record(z, {&y}, [second](const Tensor&) {});
  first.reset();
  second.reset();
  CHECK_FALSE(of_first.expired());
  tape.backward(z, cotangent_of_ones());
  CHECK(alive_below);
  CHECK(freed_above);
  CHECK(of_first.expired());
  CHECK(tape.size() == 0);
}

TEST_CASE("what a backward function computes is not recorded, on no tape") {
  Tensor x = parameter({1, 2, 3});
  Tape outer, tape;
  Tensor y = scale(x, 2);
  bool recorded = true;
  record(y, {&x}, [&](const Tensor&) { recorded = exp(x).requires_gradient(); });
  tape.backward(y, cotangent_of_ones());
  CHECK_FALSE(recorded);
  CHECK(outer.size() == 0);
}

TEST_CASE("a tape that never ran backward frees everything at its end") {
  Tensor x = Tensor::full({100000}, 1).require_gradient();
  int64_t before = allocator_counters().bytes_in_use;
  {
    Tape tape;
    Tensor y = exp(x * x);
    CHECK(allocator_counters().bytes_in_use > before);
  }
  CHECK(allocator_counters().bytes_in_use == before);
  x.mutable_data();
}

TEST_CASE("after backward only the parameters' gradients are left") {
  Tensor x = Tensor::full({100000}, 1).require_gradient();
  accumulate(x.open_gradient(), x);
  int64_t before = allocator_counters().bytes_in_use;
  Tape tape;
  tape.backward(sum(exp(x * x)));
  CHECK(allocator_counters().bytes_in_use == before);
}

TEST_CASE("what is no longer recorded has its final gradient") {
  Tensor early = parameter({1, 2, 3}), late = parameter({4, 5, 6}), unused = parameter({7, 8, 9});
  Tape tape;
  Tensor square = late * late;
  Tensor product = exp(early) * late;
  Tensor y = square + product;
  CHECK(early.recorded());
  CHECK(late.recorded());
  CHECK_FALSE(unused.recorded());
  // Backward runs through the sum, the product, the exponential and the square.
  std::vector<bool> of_late, of_early;
  Scalars found;
  tape.backward(y, cotangent_of_ones(), [&] {
    of_late.push_back(late.recorded());
    of_early.push_back(early.recorded());
    if (found.empty() && !late.recorded()) found = late.gradient().values();
  });
  CHECK(of_early == std::vector{true, true, false, false});
  CHECK(of_late == std::vector{true, true, true, false});
  CHECK(found == late.gradient().values());
}

TEST_CASE("a second backward is an error that says so") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  Tensor y = sum(x * x);
  tape.backward(y);
  CHECK(refusal([&] { tape.backward(y); }) ==
        "backward: this tape has run backward already; record a new one");
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
}

TEST_CASE("recording after backward is an error that says so") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  tape.backward(sum(x * x));
  CHECK(refusal([&] { exp(x); }) ==
        "tape: recording after the backward pass; make a new Tape for each pass");
  Tape::Pause pause;
  CHECK_FALSE(exp(x).requires_gradient());
}

TEST_CASE("backward names what it cannot start from") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  Tensor y = x * x;
  CHECK(refusal([&] { tape.backward(y); }) ==
        "backward: a loss of shape [3], expected one element; give a cotangent for more");
  CHECK(refusal([&] { tape.backward(Tensor()); }) == "backward: the loss is undefined");
  CHECK(refusal([&] { tape.backward(Tensor::full({}, 1)); }) ==
        "backward: the output depends on nothing that requires a gradient");
  CHECK(refusal([&] { tape.backward(y, Tensor::full({4}, 1)); }) ==
        "backward: a cotangent of shape [4] for an output of shape [3]");
  // None of these spent the tape.
  tape.backward(y, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
}

TEST_CASE("a loss of one element may have any number of axes") {
  Tensor x = parameter({3});
  Tape tape;
  tape.backward(reshape(x * x, {1, 1, 1}));
  CHECK(x.gradient().values() == Scalars{6});
}

TEST_CASE("parameter gradients add up until they are zeroed") {
  Tensor x = parameter({1, 2, 3});
  auto pass = [&] {
    Tape tape;
    tape.backward(x * x, cotangent_of_ones());
  };
  pass();
  pass();
  CHECK(x.gradient().values() == Scalars{4, 8, 12});
  x.zero_gradient();
  CHECK_FALSE(x.gradient().defined());
  pass();
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
}

TEST_CASE("a branch that the loss does not use gets no gradient and is not run") {
  Tensor x = parameter({1, 2, 3}), unused = parameter({4, 5, 6});
  bool ran = false;
  Tape tape;
  Tensor branch = unused * unused;
  record(branch, {&unused}, [&](const Tensor&) { ran = true; });
  Tensor after = exp(x * x);
  tape.backward(x * x, cotangent_of_ones());
  CHECK_FALSE(ran);
  CHECK_FALSE(unused.gradient().defined());
  CHECK_FALSE(branch.gradient().defined());
  CHECK_FALSE(after.gradient().defined());
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
}

TEST_CASE("constants among the inputs get no gradient") {
  Tensor x = parameter({1, 2, 3}), constant = Tensor::full({3}, 5);
  Tape tape;
  tape.backward(x * constant, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{5, 5, 5});
  CHECK_FALSE(constant.requires_gradient());
  CHECK_FALSE(constant.gradient().defined());
}

TEST_CASE("no gradient passes a detached tensor") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  Tensor y = x * x;
  tape.backward(y.detach() * x, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{1, 4, 9});
  CHECK_FALSE(y.gradient().defined());
}

TEST_CASE("a value used many times gathers the gradients of all uses") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  Tensor y = x * x;                              // x²
  Tensor z = y * y + y + slice(y, 0, 0, 1) * y;  // x⁴ + x² + x_0² x²
  tape.backward(z, cotangent_of_ones());
  // 4x³ + 2x + 2 x_0² x, and for x_0 also 2 x_0 Σ x².
  CHECK(x.gradient().values() == Scalars{4 + 2 + 2 + 28, 32 + 4 + 4, 108 + 6 + 6});
}

TEST_CASE("the gradient of an unfinished value may be written through different views") {
  Tensor x = parameter({1, 2, 3, 4});
  Tape tape;
  Tensor y = scale(x, 1);
  Tensor left = slice(y, 0, 0, 3), right = slice(y, 0, 1, 4);
  tape.backward(left * right, Tensor::full({3}, 1));
  CHECK(x.gradient().values() == Scalars{2, 1 + 3, 2 + 4, 3});
}

TEST_CASE("a chain of 100000 ops needs no deep stack") {
  Tensor x = parameter({1, 2, 3});
  {
    Tape tape;
    Tensor y = x;
    for (int n = 0; n < 100000; ++n) y = negate(y);
    CHECK(tape.size() == 100000);
    tape.backward(y, cotangent_of_ones());
  }
  CHECK(x.gradient().values() == ones);
  // Nor does throwing it away.
  Tape tape;
  Tensor y = x;
  for (int n = 0; n < 100000; ++n) y = negate(y);
}

TEST_CASE("an error in the middle of backward leaves nothing recorded") {
  Tensor x = parameter({1, 2, 3});
  {
    Tape tape;
    Tensor y = x * x;
    record(y, {&x}, [](const Tensor&) { fail("broken op"); });
    CHECK(refusal([&] { tape.backward(y, cotangent_of_ones()); }) == "broken op");
    CHECK(Tape::current() == &tape);
  }
  x.mutable_data();
}

TEST_CASE("what another tape computed is refused until somebody detaches it") {
  const std::string ends =
      "backward: an input of shape [3] was computed on another tape, where its gradient would end; "
      "record both on one tape, or detach() it";
  Tensor x = parameter({1, 2, 3}), w = parameter({4, 5, 6});
  auto use = [&](const Tensor& h) {
    Tape tape;
    tape.backward(h * w, cotangent_of_ones());
  };
  Tensor ended, spent;
  {
    Tape tape;
    ended = x * x;
  }
  CHECK(refusal([&] { use(ended); }) == ends);
  Tape first;
  spent = x * x;
  first.backward(spent, cotangent_of_ones());
  CHECK(refusal([&] { use(spent); }) == ends);
  // Nor does an inner tape go on in an outer one that has not run backward, or the other way round.
  Tape outer;
  Tensor living = x * x;
  CHECK(refusal([&] { use(living); }) == ends);
  Tape::Pause pause;
  CHECK_FALSE(w.gradient().defined());
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
  use(ended.detach());
  CHECK(w.gradient().values() == Scalars{1, 4, 9});
}

TEST_CASE("what an inner tape computed is refused by the outer one") {
  Tensor x = parameter({1, 2, 3});
  Tape outer;
  Tensor inside;
  {
    Tape inner;
    inside = x * x;
  }
  Tensor loss = sum(inside * x);
  CHECK(refusal([&] { outer.backward(loss); })
            .starts_with("backward: an input of shape [3] was computed on another tape"));
  // A refusal leaves the tape as it was, and what does not lead there is no matter.
  outer.backward(sum(x));
  CHECK(x.gradient().values() == ones);
}

TEST_CASE("a gradient goes on from a tape in a backward function") {
  Tensor x = parameter({1, 2, 3});
  Tape tape;
  Tensor h = x * x;
  Tensor y = Tensor::full({3}, 0);
  record(y, {&h}, [&](const Tensor& gradient) {
    Tape inner;
    inner.backward(h * h, gradient);
  });
  tape.backward(y, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{4, 32, 108});
}

TEST_CASE("what was computed without a tape is a constant of every tape") {
  Tensor x = parameter({1, 2, 3});
  Tensor early = x * x;
  Tape tape;
  tape.backward(early * x, cotangent_of_ones());
  CHECK(x.gradient().values() == Scalars{1, 4, 9});
}

TEST_CASE("no gradient may be cut out of a live tape") {
  Tensor x = parameter({1, 2, 3});
  Tensor h;
  {
    Tape tape;
    h = x * x;
    CHECK(refusal([&] { h.require_gradient(false); }) ==
          "require_gradient: false for what a live tape computed, of shape [3], would end its "
          "gradient; detach() gives a constant");
    x.require_gradient(false).require_gradient();
    tape.backward(h, cotangent_of_ones());
  }
  CHECK(x.gradient().values() == Scalars{2, 4, 6});
  CHECK_FALSE(h.require_gradient(false).requires_gradient());
}

TEST_CASE("a tape of another thread keeps its parameters until it ends") {
  Tensor x = parameter({1, 2, 3});
  const std::string other =
      "tape: a tensor of shape [3] is recorded on a live tape of another thread; expected one "
      "thread at a time to train it";
  std::string refused, afterwards;
  auto train = [&] {
    Tape tape;
    tape.backward(x * x, cotangent_of_ones());
  };
  {
    Tape tape;
    Tensor y = x * x, z = exp(x);
    std::thread([&] { refused = refusal(train); }).join();
    tape.backward(y, cotangent_of_ones());
  }
  CHECK(refused == other);
  CHECK_FALSE(x.recorded());
  std::thread(train).join();
  CHECK(x.gradient().values() == Scalars{4, 8, 12});
}
