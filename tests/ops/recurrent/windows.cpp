// A cell over windows against loops over units, windows of several groups and blocks among them.

#include "core/machine/parallel.h"
#include "ops/recurrent.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using In = std::vector<Tensor>;
using Reference = std::vector<Numbers>;
using Units = std::vector<Bounded>;

constexpr RecurrentCell cells[] = {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm};

int64_t gates(RecurrentCell cell) {
  return cell == RecurrentCell::rnn ? 1 : cell == RecurrentCell::gru ? 3 : 4;
}

/// h and c move on by one step.
void move_on(RecurrentCell cell, const Units& p, const Units& u, Units& h, Units& c) {
  size_t C = h.size();
  for (size_t n = 0; n < C; ++n) {
    auto sum = [&](size_t gate) { return p[gate * C + n] + u[gate * C + n]; };
    if (cell == RecurrentCell::rnn) {
      h[n] = tanh(sum(0));
    } else if (cell == RecurrentCell::gru) {
      Bounded r = sigma(sum(0)), z = sigma(sum(1)),
              candidate = tanh(p[2 * C + n] + r * u[2 * C + n]);
      h[n] = (Bounded(1) - z) * candidate + z * h[n];
    } else {
      c[n] = sigma(sum(1)) * c[n] + sigma(sum(0)) * tanh(sum(2));
      h[n] = sigma(sum(3)) * tanh(c[n]);
    }
  }
}

/// in: p, W and, where there is one, b.
Numbers windows_of(RecurrentCell cell, int64_t s, const Reference& in) {
  int64_t B = in[0].shape[0], T = in[0].shape[1] - s + 1, C = in[1].shape[1];
  Numbers y({B, T, C});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      Units h(static_cast<size_t>(C)), c = h;
      for (int64_t n = 0; n < s; ++n) {
        Units p, u;
        for (int64_t gate = 0; gate < gates(cell) * C; ++gate) {
          p.push_back(in[0](b, t + n, gate));
          u.push_back(in.size() > 2 ? in[2](gate) : Bounded(0));
          for (int64_t m = 0; m < C; ++m) u.back() += in[1](gate, m) * h[static_cast<size_t>(m)];
        }
        move_on(cell, p, u, h, c);
      }
      for (int64_t m = 0; m < C; ++m) y(b, t, m) = h[static_cast<size_t>(m)];
    }
  return y;
}

struct Size {
  int64_t B, T, C, s;
};

std::vector<OpRow> window_rows() {
  std::vector<OpRow> list;
  // The last one has two groups, the border between them inside of the second member.
  for (Size size : {Size{2, 3, 2, 3}, {1, 2, 3, 1}, {3, 1, 1, 4}, {0, 2, 2, 2}, {2, 18, 1, 3}})
    for (RecurrentCell cell : cells)
      for (bool biased : {false, true}) {
        int64_t g = gates(cell) * size.C, s = size.s;
        OpRow row;
        row.name = biased ? "with a bias" : "without a bias";
        row.shapes = {{size.B, s - 1 + size.T, g}, {g, size.C}};
        if (biased) row.shapes.push_back({g});
        auto bias = [=](const In& in) { return biased ? in[2] : Tensor(); };
        row.op = [=](const In& in) { return recurrent_windows(cell, in[0], in[1], bias(in), s); };
        row.twin = [=](const In& in) { return composed_windows(cell, in[0], in[1], bias(in), s); };
        row.oracle = [=](const Reference& in) { return windows_of(cell, s, in); };
        list.push_back(row);
      }
  return list;
}

struct Passed {
  std::vector<Scalar> y;
  std::vector<std::vector<Scalar>> gradients;
};

Passed pass_of(const Size& size, RecurrentCell cell) {
  RandomValues random(5);
  int64_t g = gates(cell) * size.C;
  In in = {random.tensor({size.B, size.s - 1 + size.T, g}), random.tensor({g, size.C}),
           random.tensor({g})};
  for (const Tensor& x : in) x.require_gradient();
  Tape tape;
  Tensor y = recurrent_windows(cell, in[0], in[1], in[2], size.s);
  tape.backward(y, RandomValues(6).tensor(y.shape()));
  Passed result{y.values(), {}};
  for (const Tensor& x : in) result.gradients.push_back(x.gradient().values());
  return result;
}

}  // namespace

TEST_CASE("recurrent_windows: values and gradients") { check_rows(window_rows()); }

TEST_CASE("recurrent_windows: the same bits whatever the number of threads") {
  for (RecurrentCell cell : cells)
    for (Size size : {Size{3, 50, 5, 4}, {2, 2300, 2, 3}}) {
      Passed first;
      for (int threads : {1, 2, 4})
        with_threads(threads, [&] {
          Passed passed = pass_of(size, cell);
          if (first.y.empty()) first = passed;
          CHECK(same_bits(passed.y, first.y));
          for (size_t n = 0; n < passed.gradients.size(); ++n)
            CHECK(same_bits(passed.gradients[n], first.gradients[n]));
        });
    }
}

TEST_CASE("recurrent_windows: gradients of several blocks are those of each member alone") {
  // Members that follow one another at once, and the sum over members of their own gradients.
  RandomValues random(8);
  constexpr int64_t B = 2, T = 2300, C = 2, s = 3;
  for (RecurrentCell cell : cells) {
    int64_t g = gates(cell) * C;
    Tensor p = random.tensor({B, s - 1 + T, g}).require_gradient();
    Tensor weight = random.tensor({g, C}).require_gradient(), bias = random.tensor({g});
    Tensor cotangent = random.tensor({B, T, C});
    auto pass = [&](int64_t b, int64_t begin, int64_t end) {
      Tape tape;
      Tensor part = slice(slice(p, 0, b, b + 1), 1, begin, end + s - 1);
      tape.backward(recurrent_windows(cell, part, weight, bias, s),
                    slice(slice(cotangent, 0, b, b + 1), 1, begin, end));
    };
    for (int64_t b = 0; b < B; ++b)
      for (int64_t begin = 0; begin < T; begin += 25) pass(b, begin, begin + 25);
    Numbers dp = numbers(p.gradient()), dweight = numbers(weight.gradient());
    for (Bounded& value : dp.values) value.error = 64 * epsilon;
    for (Bounded& value : dweight.values) value.error = B * T * epsilon;
    p.zero_gradient();
    weight.zero_gradient();
    Tape tape;
    tape.backward(recurrent_windows(cell, p, weight, bias, s), cotangent);
    CHECK(mismatch(p.gradient(), dp) == "");
    CHECK(mismatch(weight.gradient(), dweight) == "");
  }
}

TEST_CASE("recurrent_windows refuses shapes that do not fit, by name") {
  auto of = [](const Dims& shape) { return Tensor::zeros(shape); };
  auto refused = [&](const Dims& p, const Dims& weight, const Tensor& bias, int64_t window) {
    return refusal([&] { recurrent_windows(RecurrentCell::gru, of(p), of(weight), bias, window); });
  };
  CHECK(refused({2, 5, 6}, {6, 3}, {}, 3) ==
        "recurrent_windows: [2, 5, 6] with [6, 3] and [] for windows of 3: expected [B, 2 + T, "
        "3C], [3C, C] and [3C]");
  CHECK(refused({2, 5, 6}, {6, 2}, of({2}), 3) ==
        "recurrent_windows: [2, 5, 6] with [6, 2] and [2] for windows of 3: expected [B, 2 + T, "
        "3C], [3C, C] and [3C]");
  CHECK(refused({2, 1, 6}, {6, 2}, {}, 3) ==
        "recurrent_windows: [2, 1, 6] with [6, 2] and [] for windows of 3: expected [B, 2 + T, "
        "3C], [3C, C] and [3C]");
  CHECK(refused({2, 5, 6}, {6, 2}, {}, 0) ==
        "recurrent_windows: windows of 0, expected at least 1");
  CHECK(refused({5, 6}, {6, 2}, {}, 3) ==
        "recurrent_windows: [5, 6] with [6, 2] and [] for windows of 3: expected [B, 2 + T, 3C], "
        "[3C, C] and [3C]");
}
