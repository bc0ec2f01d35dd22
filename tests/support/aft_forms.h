#pragma once

// Forms of aft_mix and aft_step over several blocks of queries, and their sums written out.

#include <cmath>
#include <functional>

#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/aft.h"
#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/exact.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/specials.h"
#include "tests/support/values.h"

namespace shiftgrad::test::aft_forms {

/// A band by the name of the layer's form that has it.
struct Form {
  std::string name;
  int64_t n, start, step, groups;
  bool causal;
};

inline std::vector<Form> every_form(int64_t M, int64_t T) {
  int64_t K = M + T;
  return {
      {"full", K, 0, 0, 1, true},
      {"full, two-way", K, 0, 0, 1, false},
      {"local", 5, M - 4, 1, 1, true},
      {"local, as wide as a block", 32, M - 31, 1, 1, true},
      {"local, wide", 70, M - 69, 1, 1, true},
      {"local, two-way", 9, M - 4, 1, 1, false},
      {"conv", 3, M - 2, 1, 3, true},
      {"conv, two-way", 3, M - 1, 1, 3, false},
      {"simple", 0, M + 1, 1, 1, true},
      {"simple, two-way", 0, K, 0, 1, false},
  };
}

struct Inputs {
  Form form;
  int64_t T;
  Tensor key, value, bias, dy;
  std::shared_ptr<Mask> padding;

  Inputs(const Form& of, int64_t B, int64_t M, int64_t queries, int64_t C, RandomValues& random)
      : form(of),
        T(queries),
        key(random.tensor({B, M + T, C})),
        value(random.tensor({B, M + T, C})),
        bias(random.tensor({form.groups, T, form.n})),
        dy(random.tensor({B, T, C})) {}

  int64_t B() const { return key.size(0); }
  int64_t K() const { return key.size(1); }
  int64_t C() const { return key.size(2); }
  /// Every channel of a token.
  Scalar* token(const Tensor& x, int64_t b, int64_t t) const {
    return x.mutable_data() + (b * x.size(1) + t) * C();
  }
  void move_key(int64_t b, int64_t j, double by) const {
    for (int64_t c = 0; c < C(); ++c) token(key, b, j)[c] += static_cast<Scalar>(by);
  }
  /// The keys of member 0 rise by 300 again and again, those of member 1 rise and fall.
  void move_keys_by_hundreds() const {
    for (int64_t j = 0; j < key.size(1); ++j) {
      move_key(0, j, static_cast<double>(j / 35 * 300));
      move_key(1, j, static_cast<double>(j * 53 % 7 * 150 - 600));
    }
  }
  /// One bias in three moves by `by`, and one by as much the other way.
  void move_biases(double by) const {
    for (int64_t n = 0; n < bias.count(); ++n)
      bias.mutable_data()[n] += static_cast<Scalar>(static_cast<double>(n % 3) * by - by);
  }
  void set(int64_t b, int64_t j, Scalar k, Scalar v) const {
    std::fill_n(token(key, b, j), C(), k);
    std::fill_n(token(value, b, j), C(), v);
  }
  bool sees(int64_t b, int64_t i, int64_t j) const {
    bool padded = padding && padding->values[static_cast<size_t>(b * K() + j)];
    return !padded && (!form.causal || j <= K() - T + i);
  }
  void pad(const std::function<bool(int64_t, int64_t)>& padded) {
    padding = std::make_shared<Mask>(Mask{{B(), K()}, {}});
    for (int64_t n = 0; n < B() * K(); ++n) padding->values.push_back(padded(n / K(), n % K()));
  }
};

struct Pass {
  Tensor y, dkey, dvalue, dbias;

  /// `between` is called before the backward pass.
  explicit Pass(
      const Inputs& in, bool composed = false, const std::function<void()>& between = [] {}) {
    auto leaf = [](const Tensor& x) { return x.detach().require_gradient(); };
    Tensor key = leaf(in.key), value = leaf(in.value), bias = leaf(in.bias);
    Tape tape;
    AftBand band{bias, in.form.start, in.form.step};
    Visibility visible{{in.form.causal}, in.padding, nullptr};
    y = composed ? composed_aft(key, value, band, visible) : aft_mix(key, value, band, visible);
    between();
    tape.backward(y, in.dy);
    dkey = key.gradient().detach();
    dvalue = value.gradient().detach();
    dbias = in.form.n > 0 ? bias.gradient().detach() : Tensor::zeros({1});
  }
};

/// The equations of ops/aft.h and their derivatives.
struct Expected {
  Values y, dkey, dvalue, dbias;
  /// As dbias, of the sizes of what is subtracted there: all of it where a query sees one key only.
  Values bias_terms;
  /// As dkey, of the sizes of what is subtracted there.
  Values key_terms;

  explicit Expected(const Inputs& in)
      : y({in.B(), in.T, in.C()}),
        dkey(in.key.shape()),
        dvalue(in.key.shape()),
        dbias(in.bias.shape()),
        bias_terms(in.bias.shape()),
        key_terms(in.key.shape()) {
    for (int64_t b = 0; b < in.B(); ++b)
      for (int64_t i = 0; i < in.T; ++i)
        for (int64_t c = 0; c < in.C(); ++c) add(in, b, i, c);
  }

 private:
  void add(const Inputs& in, int64_t b, int64_t i, int64_t c) {
    int64_t first = in.form.start + in.form.step * i, group = c / (in.C() / in.form.groups);
    auto in_band = [&](int64_t j) { return j >= first && j < first + in.form.n; };
    auto number = [&](const Tensor& x, int64_t j) {
      return static_cast<Exact>(x.data()[(b * in.K() + j) * in.C() + c]);
    };
    auto exponent = [&](int64_t j) {
      int64_t at = (group * in.T + i) * in.form.n + j - first;
      return number(in.key, j) + (in_band(j) ? static_cast<Exact>(in.bias.data()[at]) : 0);
    };
    Exact greatest = -INFINITY, total = 0, mixed = 0;
    for (int64_t j = 0; j < in.K(); ++j)
      if (in.sees(b, i, j)) greatest = std::max(greatest, exponent(j));
    std::vector<Exact> weights;
    for (int64_t j = 0; j < in.K(); ++j) {
      weights.push_back(in.sees(b, i, j) ? std::exp(exponent(j) - greatest) : 0);
      total += weights.back();
      if (weights.back() > 0) mixed += weights.back() * number(in.value, j);
    }
    if (total == 0) return;
    mixed /= total;
    y(b, i, c) = static_cast<double>(mixed);
    auto dy = static_cast<Exact>(in.dy.data()[(b * in.T + i) * in.C() + c]);
    for (int64_t j = 0; j < in.K(); ++j) {
      if (!in.sees(b, i, j)) continue;
      Exact through = weights[static_cast<size_t>(j)] / total * dy;
      auto through_key = static_cast<double>(through * (number(in.value, j) - mixed));
      dvalue(b, j, c) += static_cast<double>(through);
      dkey(b, j, c) += through_key;
      auto sizes = static_cast<double>(std::abs(through) *
                                       (std::abs(number(in.value, j)) + std::abs(mixed)));
      key_terms(b, j, c) += sizes;
      if (!in_band(j)) continue;
      dbias(group, i, j - first) += through_key;
      bias_terms(group, i, j - first) += sizes;
    }
  }
};

constexpr bool is_double = sizeof(Scalar) == 8;
/// The error that keys up to 100 may make: their own rounding already moves the weights.
constexpr double hard = is_double ? 1e-9 : 2e-4;
constexpr double easy = is_double ? 1e-12 : 2e-5;

/// Whether all numbers are there and within `allowed` of the greatest one, or of `terms`.
inline bool is_close(const Tensor& got, const Values& wanted, double allowed, double terms = 1e-3) {
  std::vector<Scalar> values = got.values();
  double scale = std::max(greatest(wanted), terms), error = 0;
  for (size_t n = 0; n < values.size(); ++n) {
    double difference = std::abs(static_cast<double>(values[n]) - wanted.values[n]);
    if (std::isnan(difference)) return false;
    error = std::max(error, difference);
  }
  return error <= allowed * scale;
}

inline void check(const Inputs& in, const Expected& expected, bool composed, double allowed) {
  CAPTURE(in.form.name);
  CAPTURE(in.T);
  CAPTURE(in.K());
  CAPTURE(composed);
  Pass pass(in, composed);
  CHECK(is_close(pass.y, expected.y, allowed));
  CHECK(is_close(pass.dvalue, expected.dvalue, allowed));
  CHECK(is_close(pass.dkey, expected.dkey, allowed));
  if (in.form.n > 0)
    CHECK(is_close(pass.dbias, expected.dbias, allowed, greatest(expected.bias_terms)));
}

/// The kernel and its twin from plain ops.
inline void check(const Inputs& in, double allowed) {
  Expected expected(in);
  for (bool composed : {false, true}) check(in, expected, composed, allowed);
}

/// y of aft_step, which gets the queries in pieces of this length, and each key until it moves to
/// the sums.
inline Tensor stepped(const Inputs& in, int64_t length) {
  AftSums sums = aft_no_sums(in.B(), in.C());
  std::vector<Tensor> pieces;
  int64_t M = in.K() - in.T, moved = 0;
  auto first = [&](int64_t i) { return in.form.start + in.form.step * i; };
  for (int64_t begin = 0; begin < in.T; begin += length) {
    int64_t end = std::min(begin + length, in.T);
    auto left = [&](const Tensor& x) { return slice(x, 1, moved, M + end); };
    AftBand band{slice(in.bias, 1, begin, end), first(begin) - moved, in.form.step};
    pieces.push_back(aft_step(left(in.key), left(in.value), band, sums));
    moved = std::clamp<int64_t>(first(end - 1), moved, M + end);
  }
  return concat(pieces, 1);
}

inline void check_steps(const Inputs& in, double allowed) {
  if (!in.form.causal) return;
  CAPTURE(in.form.name);
  Tensor y = stepped(in, 1);
  CHECK(is_close(y, Expected(in).y, allowed));
  for (int64_t length : {int64_t{2}, int64_t{7}, in.T}) CHECK(same_bits(stepped(in, length), y));
}

using test::same_bits;
inline bool same_bits(const Pass& a, const Pass& b) {
  return same_bits(a.y, b.y) && same_bits(a.dkey, b.dkey) && same_bits(a.dvalue, b.dvalue) &&
         same_bits(a.dbias, b.dbias);
}

/// Whether the first rows of each batch member hold the same bits.
inline bool same_past(const Tensor& a, const Tensor& b, int64_t rows) {
  auto first = [&](const Tensor& x) { return slice(x, 1, 0, rows); };
  return same_bits(first(a), first(b));
}

/// Whether both passes agree so on the queries, on the keys and values, and on all biases.
inline bool same_past(const Pass& a, const Pass& b, int64_t queries, int64_t keys) {
  return same_past(a.y, b.y, queries) && same_past(a.dkey, b.dkey, keys) &&
         same_past(a.dvalue, b.dvalue, keys) && same_bits(a.dbias, b.dbias);
}

/// Makes the loss ignore the queries from `now` on.
inline void silence(const Inputs& in, int64_t now) {
  for (int64_t b = 0; b < in.B(); ++b)
    std::fill_n(in.token(in.dy, b, now), (in.T - now) * in.C(), Scalar{0});
}

/// Checks that the tokens from each of `begins` on, whatever they hold, change no bit of y before
/// them, nor of the gradients of a loss that ignores them.
inline void check_future(int64_t M, int64_t T, const std::vector<int64_t>& begins, uint64_t seed) {
  for (const Form& form : every_form(M, T)) {
    if (!form.causal) continue;
    CAPTURE(form.name);
    for (int64_t now : begins) {
      CAPTURE(now);
      RandomValues random(seed);
      Inputs in(form, 2, M, T, 3, random);
      silence(in, now);
      Pass before(in);
      for (double extreme : {20., 60., 1e4, -1e4, 1e30, -1e30, HUGE_VAL, -HUGE_VAL, double{NAN}}) {
        CAPTURE(extreme);
        for (int64_t j = M + now; j < M + T; ++j)
          for (int64_t b = 0; b < 2; ++b)
            in.set(b, j, static_cast<Scalar>(extreme), static_cast<Scalar>(extreme));
        Pass after(in);
        CHECK(same_past(after.y, before.y, now));
        CHECK(same_past(after, before, now, M + now));
      }
    }
  }
}

/// Checks that a NaN in the batch member `ill` of B changes no bit of the others.
inline void check_members(int64_t B, int64_t ill, int64_t T, uint64_t seed) {
  for (const Form& form : every_form(5, T)) {
    CAPTURE(form.name);
    RandomValues random(seed);
    Inputs in(form, B, 5, T, 3, random);
    Pass before(in);
    in.set(ill, 20, not_a_number, 1);
    Pass after(in);
    for (int64_t b = 0; b < B; ++b)
      for (auto part : {&Pass::y, &Pass::dkey, &Pass::dvalue})
        if (b != ill) CHECK(same_bits(select(after.*part, 0, b), select(before.*part, 0, b)));
  }
}

/// Checks that a pass over B members of C channels has the same bits on any number of threads.
inline void check_threads(int64_t B, int64_t C, uint64_t seed) {
  for (const Form& form : every_form(5, 200)) {
    CAPTURE(form.name);
    RandomValues random(seed);
    Inputs in(form, B, 5, 200, C, random);
    in.move_key(2, 60, 100);
    Pass here(in);
    for (int threads : {1, 2, 3, 4})
      with_threads(threads, [&] { CHECK(same_bits(Pass(in), here)); });
  }
}

}  // namespace shiftgrad::test::aft_forms
