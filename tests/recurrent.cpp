#include "ops/recurrent.h"

#include "core/parallel.h"
#include "ops/shape.h"
#include "tests/refusal.h"
#include "tests/support/op_row.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using In = std::vector<Tensor>;
using Reference = std::vector<Numbers>;

Bounded sigma(const Bounded& x) { return Bounded(1) / (Bounded(1) + exp(-x)); }

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

/// in[2], c, may be missing: 0.
Numbers lstm_of(const Reference& in) {
  int64_t C = in[0].shape[2] / 4;
  Numbers y({2, in[0].shape[0], in[0].shape[1], C});
  for_each_unit(in[0], C, [&](int64_t b, int64_t t, int64_t c) {
    Gates gate{in[0], in[1], b, t, c, C};
    Bounded before = in.size() > 2 ? in[2](b, t, c) : Bounded(0);
    Bounded i = sigma(gate.sum(0)), f = sigma(gate.sum(1));
    Bounded g = tanh(gate.sum(2)), o = sigma(gate.sum(3));
    Bounded after = f * before + i * g;
    y(0, b, t, c) = o * tanh(after);
    y(1, b, t, c) = after;
  });
  return y;
}

using Step = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);

std::vector<OpRow> rows_of(const char* name, Step step, int64_t gates,
                           Numbers (*oracle)(const Reference&)) {
  std::vector<OpRow> rows;
  for (const Dims& of_units : {Dims{2, 3, 2}, Dims{1, 1, 3}, Dims{3, 2, 1}, Dims{0, 2, 2}}) {
    Dims of_gates = of_units;
    of_gates[2] *= gates;
    rows.push_back({text(name, " behind a state"),
                    {of_gates, of_gates, of_units},
                    [=](const In& in) { return step(in[0], in[1], in[2]); },
                    oracle});
    rows.push_back({text(name, " at the start"),
                    {of_gates, of_gates},
                    [=](const In& in) { return step(in[0], in[1], {}); },
                    oracle});
  }
  Dims gates_of_two{2, 3, 2 * gates};
  rows.push_back({text(name, " of one tensor twice"),
                  {gates_of_two},
                  [=](const In& in) { return step(in[0], in[0], {}); },
                  [=](const Reference& in) {
                    return oracle({in[0], in[0]});
                  }});
  rows.push_back(
      {text(name, " of a tensor and its next tokens"),
       {gates_of_two},
       [=](const In& in) { return step(slice(in[0], 1, 0, 2), slice(in[0], 1, 1, 3), {}); },
       [=](const Reference& in) {
         Numbers first({2, 2, 2 * gates}), next = first;
         for_each_index(first.shape, [&](const Dims& x) {
           first.at(x) = in[0](x[0], x[1], x[2]);
           next.at(x) = in[0](x[0], x[1] + 1, x[2]);
         });
         return oracle({first, next});
       }});
  return rows;
}

}  // namespace

TEST_CASE("gru_step: values and gradients") { check_rows(rows_of("gru", gru_step, 3, gru_of)); }

TEST_CASE("lstm_step: values and gradients") { check_rows(rows_of("lstm", lstm_step, 4, lstm_of)); }

TEST_CASE("steps have the same bits whatever the number of threads") {
  for (auto [step, gates] : {std::pair<Step, int64_t>{gru_step, 3}, {lstm_step, 4}}) {
    std::vector<std::vector<Scalar>> first;
    for (int threads : {1, 2, 4})
      with_threads(threads, [&, step = step, gates = gates] {
        RandomValues random(5);
        In in;
        for (int64_t width : {gates * 20, gates * 20, int64_t{20}})
          in.push_back(random.tensor({9, 30, width}).require_gradient());
        Tape tape;
        Tensor y = step(in[0], in[1], in[2]);
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
  CHECK(refusal([&] {
          gru_step(of({2, 3, 6}), of({2, 3, 9}), {});
        }) == "gru_step: [2, 3, 6] with [2, 3, 9] and []: expected [B, T, 3C] twice and [B, T, C]");
  CHECK(
      refusal([&] {
        gru_step(of({2, 3, 6}), of({2, 3, 6}), of({2, 3, 3}));
      }) ==
      "gru_step: [2, 3, 6] with [2, 3, 6] and [2, 3, 3]: expected [B, T, 3C] twice and [B, T, C]");
  CHECK(refusal([&] {
          lstm_step(of({2, 3, 6}), of({2, 3, 6}), {});
        }) ==
        "lstm_step: [2, 3, 6] with [2, 3, 6] and []: expected [B, T, 4C] twice and [B, T, C]");
  CHECK(refusal([&] {
          lstm_step(of({2, 8}), of({2, 8}), {});
        }) == "lstm_step: [2, 8] with [2, 8] and []: expected [B, T, 4C] twice and [B, T, C]");
}
