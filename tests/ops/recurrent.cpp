#include "ops/recurrent.h"

#include <cmath>
#include <thread>

#include "core/machine/parallel.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using In = std::vector<Tensor>;
using Reference = std::vector<Numbers>;

constexpr RecurrentCell rnn = RecurrentCell::rnn, gru = RecurrentCell::gru,
                        lstm = RecurrentCell::lstm;

/// Returns h' and c' as [2, B, T, C]; the gates see `sums` alone.
Tensor lstm_step(const Tensor& sums, const Tensor& before) {
  auto [h, c] = recurrent_step(lstm, sums, {}, before);
  return concat({unsqueeze(h, 0), unsqueeze(c, 0)}, 0);
}

/// Gate number n of unit c of net (b, t): its two products, which only n of GRU keeps apart.
struct Gates {
  const Numbers &projected, &recurrent;
  int64_t b, t, c, C;

  const Bounded& p(int64_t n) const { return projected(b, t, n * C + c); }
  const Bounded& u(int64_t n) const { return recurrent(b, t, n * C + c); }
  Bounded sum(int64_t n) const { return p(n) + u(n); }
};

/// Calls set(b, t, c) for all units.
template <class Set>
void for_each_unit(const Numbers& projected, int64_t C, Set set) {
  for (int64_t b = 0; b < projected.shape[0]; ++b)
    for (int64_t t = 0; t < projected.shape[1]; ++t)
      for (int64_t c = 0; c < C; ++c) set(b, t, c);
}

Numbers rnn_of(const Reference& in) {
  Numbers y(in[0].shape);
  for_each_unit(in[0], in[0].shape[2], [&](int64_t b, int64_t t, int64_t c) {
    y(b, t, c) = tanh(in[0](b, t, c) + in[1](b, t, c));
  });
  return y;
}

/// in[2], h, may be missing: 0.
Numbers gru_of(const Reference& in) {
  int64_t C = in[0].shape[2] / 3;
  Numbers y({in[0].shape[0], in[0].shape[1], C});
  for_each_unit(in[0], C, [&](int64_t b, int64_t t, int64_t c) {
    Gates gate{in[0], in[1], b, t, c, C};
    Bounded h = in.size() > 2 ? in[2](b, t, c) : Bounded(0);
    Bounded r = sigma(gate.sum(0)), z = sigma(gate.sum(1));
    Bounded n = tanh(gate.p(2) + r * gate.u(2));
    y(b, t, c) = (Bounded(1) - z) * n + z * h;
  });
  return y;
}

/// in[1], c, may be missing: 0.
Numbers lstm_of(const Reference& in) {
  int64_t C = in[0].shape[2] / 4;
  Numbers y({2, in[0].shape[0], in[0].shape[1], C});
  for_each_unit(in[0], C, [&](int64_t b, int64_t t, int64_t c) {
    auto sum = [&](int64_t n) { return in[0](b, t, n * C + c); };
    Bounded before = in.size() > 1 ? in[1](b, t, c) : Bounded(0);
    Bounded i = sigma(sum(0)), f = sigma(sum(1)), g = tanh(sum(2)), o = sigma(sum(3));
    Bounded after = f * before + i * g;
    y(0, b, t, c) = o * tanh(after);
    y(1, b, t, c) = after;
  });
  return y;
}

Numbers tokens(const Numbers& x, int64_t begin, int64_t end) {
  Numbers part({x.shape[0], end - begin, x.shape[2]});
  for_each_index(part.shape, [&](const Dims& at) { part.at(at) = x(at[0], begin + at[1], at[2]); });
  return part;
}

const std::vector<Dims> units = {{2, 3, 2}, {1, 1, 3}, {3, 2, 1}, {0, 2, 2}};

Dims times(Dims units, int64_t gates) {
  units[2] *= gates;
  return units;
}

std::vector<OpRow> gru_rows() {
  std::vector<OpRow> rows;
  for (const Dims& of_units : units) {
    Dims of_gates = times(of_units, 3);
    rows.push_back({"gru behind a state",
                    {of_gates, of_gates, of_units},
                    [](const In& in) { return recurrent_step(gru, in[0], in[1], in[2]).h; },
                    gru_of});
    rows.push_back({"gru at the start",
                    {of_gates, of_gates},
                    [](const In& in) { return recurrent_step(gru, in[0], in[1], {}).h; },
                    gru_of});
  }
  rows.push_back({"gru of one tensor twice",
                  {{2, 3, 6}},
                  [](const In& in) { return recurrent_step(gru, in[0], in[0], {}).h; },
                  [](const Reference& in) {
                    return gru_of({in[0], in[0]});
                  }});
  rows.push_back({"gru of a tensor and its next tokens",
                  {{2, 3, 6}},
                  [](const In& in) {
                    return recurrent_step(gru, slice(in[0], 1, 0, 2), slice(in[0], 1, 1, 3), {}).h;
                  },
                  [](const Reference& in) {
                    return gru_of({tokens(in[0], 0, 2), tokens(in[0], 1, 3)});
                  }});
  return rows;
}

std::vector<OpRow> lstm_rows() {
  std::vector<OpRow> rows;
  for (const Dims& of_units : units) {
    rows.push_back({"lstm behind a state",
                    {times(of_units, 4), of_units},
                    [](const In& in) { return lstm_step(in[0], in[1]); },
                    lstm_of});
    rows.push_back({"lstm at the start",
                    {times(of_units, 4)},
                    [](const In& in) { return lstm_step(in[0], {}); },
                    lstm_of});
  }
  return rows;
}

}  // namespace

TEST_CASE("recurrent_step: values and gradients of an RNN") {
  check_rows({{"rnn",
               {{2, 3, 4}, {2, 3, 4}},
               [](const In& in) { return recurrent_step(rnn, in[0], in[1], {}).h; },
               rnn_of}});
}

TEST_CASE("recurrent_step: values and gradients of a GRU") { check_rows(gru_rows()); }

TEST_CASE("recurrent_step: values and gradients of an LSTM") { check_rows(lstm_rows()); }

TEST_CASE("steps have the same bits whatever the number of threads") {
  using Step = std::function<Tensor(const In&)>;
  const std::vector<std::pair<std::vector<int64_t>, Step>> steps = {
      {{60, 60, 20}, [](const In& in) { return recurrent_step(gru, in[0], in[1], in[2]).h; }},
      {{80, 20}, [](const In& in) { return lstm_step(in[0], in[1]); }},
  };
  for (const auto& [widths, step] : steps) {
    std::vector<std::vector<Scalar>> first;
    for (int threads : {1, 2, 4})
      with_threads(threads, [&, &widths = widths, &step = step] {
        RandomValues random(5);
        In in;
        for (int64_t width : widths) in.push_back(random.tensor({9, 30, width}).require_gradient());
        Tape tape;
        Tensor y = step(in);
        tape.backward(y, RandomValues(6).tensor(y.shape()));
        std::vector<std::vector<Scalar>> all = {y.values()};
        for (const Tensor& x : in) all.push_back(x.gradient().values());
        if (first.empty()) first = all;
        for (size_t n = 0; n < all.size(); ++n) CHECK(same_bits(all[n], first[n]));
      });
  }
}

TEST_CASE("steps refuse shapes that do not fit, by name") {
  auto of = [](const Dims& shape) { return Tensor::zeros(shape); };
  auto refused = [&](RecurrentCell cell, const Tensor& p, const Tensor& u, const Tensor& before) {
    return refusal([&] { recurrent_step(cell, p, u, before); });
  };
  CHECK(refused(gru, of({2, 3, 6}), of({2, 3, 9}), {}) ==
        "recurrent_step: [2, 3, 6] with [2, 3, 9] and []: expected [B, T, 3C] twice and "
        "[B, T, C]");
  CHECK(refused(gru, of({2, 3, 6}), of({2, 3, 6}), of({2, 3, 3})) ==
        "recurrent_step: [2, 3, 6] with [2, 3, 6] and [2, 3, 3]: expected [B, T, 3C] twice and "
        "[B, T, C]");
  CHECK(refused(lstm, of({2, 3, 6}), {}, {}) ==
        "recurrent_step: [2, 3, 6] with [] and []: expected [B, T, 4C] twice and [B, T, C]");
  CHECK(refused(lstm, of({2, 8}), {}, {}) ==
        "recurrent_step: [2, 8] with [] and []: expected [B, T, 4C] twice and [B, T, C]");
  CHECK(refused(lstm, of({2, 3, 8}), {}, of({2, 3, 8})) ==
        "recurrent_step: [2, 3, 8] with [] and [2, 3, 8]: expected [B, T, 4C] twice and "
        "[B, T, C]");
}

TEST_CASE("a step's backward pass may run on another thread") {
  for (RecurrentCell cell : {rnn, gru, lstm}) {
    RandomValues random(8);
    int64_t gates = gate_count(cell);
    Tensor p = random.tensor({2, 3, 2 * gates}).require_gradient();
    auto pass = [&](auto on_thread) {
      Tape tape;
      Tensor h = recurrent_step(cell, p, p, {}).h;
      on_thread([&] { tape.backward(h, Tensor::full(h.shape(), 1)); });
      std::vector<Scalar> gradient = p.gradient().values();
      p.zero_gradient();
      return gradient;
    };
    std::vector<Scalar> here = pass([](auto action) { action(); });
    CHECK(same_bits(pass([](auto action) { std::thread(action).join(); }), here));
  }
}

TEST_CASE("an RNN has no use for a state before, whose gradient is 0") {
  RandomValues random(9);
  Tensor p = random.tensor({2, 3, 4}), before = random.tensor({2, 3, 4}).require_gradient();
  Tensor other = random.tensor({2, 3, 4}).require_gradient();
  Tape tape;
  Tensor y = recurrent_step(rnn, p, {}, before).h + other;
  tape.backward(y, Tensor::full(y.shape(), 1));
  CHECK(same_bits(before.gradient(), Tensor::zeros({2, 3, 4})));
  CHECK(same_bits(other.gradient(), Tensor::full({2, 3, 4}, 1)));
}

TEST_CASE("a net to which nothing comes back passes nothing on, even if it is not finite") {
  for (RecurrentCell cell : {rnn, gru, lstm}) {
    RandomValues random(10);
    int64_t gates = gate_count(cell);
    Tensor p = random.tensor({1, 2, 2 * gates}), u = random.tensor({1, 2, 2 * gates});
    Tensor before = random.tensor({1, 2, 2});
    for (Tensor* x : {&p, &u, &before})
      std::fill_n(x->require_gradient().mutable_data(), x->size(2), not_a_number);
    Tape tape;
    Tensor h = recurrent_step(cell, p, u, before).h;
    tape.backward(h, Tensor::from({1, 2, 2}, {0, 0, 1, 1}));
    for (const Tensor& x : {p, u, before}) {
      Tensor gradient = x.gradient();
      CHECK(same_bits(slice(gradient, 1, 0, 1), Tensor::zeros({1, 1, x.size(2)})));
      for (Scalar value : slice(gradient, 1, 1, 2).values()) CHECK(std::isfinite(value));
    }
  }
}
