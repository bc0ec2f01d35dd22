#include "ops/score_function.h"

#include <functional>

#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "tests/support/attention_forms.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/values.h"

namespace shiftgrad::test::attention_forms {

namespace {

Tensor capped(const Tensor& scores, double cap, Scalar factor) {
  return apply_score_function(std::make_shared<SoftCap>(cap), scores, factor, {});
}

/// y of attention whose scores a function changes, in the kernel or its twin.
Tensor with_function(const std::shared_ptr<const ScoreFunction>& function,
                     const std::vector<Tensor>& inputs, Op op) {
  AttentionForm form{.name = "", .T = 60, .K = 650, .visibility = causal};
  RelativeAttention a = form.attention(inputs);
  a.factor = 3;
  a.score_function = function;
  return op(a);
}

std::vector<Tensor> long_inputs() {
  return random_inputs({.name = "", .T = 60, .K = 650, .visibility = causal});
}

/// A function that forgot its parameters' gradient.
struct Shifted : ScoreFunction {
  void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
    for (int64_t n = 0; n < row.count; ++n) {
      scores[n] += row.parameters[0];
      if (slopes) slopes[n] = 1;
    }
  }
};

/// A bias by distance that is not finite for the future, with a parameter for each head.
struct LogDistance : ScoreFunction {
  void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
    for (int64_t n = 0; n < row.count; ++n) {
      scores[n] -= row.parameters[0] * std::log1p(static_cast<Scalar>(row.distance(n)));
      if (slopes) slopes[n] = 1;
    }
  }
  void backward(const ScoreRow& row, const Scalar* gradients, Scalar* sums) const override {
    for (int64_t n = 0; n < row.count; ++n)
      sums[0] -= gradients[n] * std::log1p(static_cast<Scalar>(row.distance(n)));
  }
};

/// y, the probabilities, and the gradients of the inputs and of the function's parameters, if any.
std::vector<Tensor> told(const AttentionForm& form, const std::vector<Tensor>& values,
                         const std::shared_ptr<ScoreFunction>& function,
                         const std::function<void(RelativeAttention&)>& change,
                         const TermEditor& editor) {
  std::vector<Tensor> inputs, all;
  for (const Tensor& value : values) inputs.push_back(value.detach().require_gradient());
  if (function && function->parameters.defined()) function->parameters.zero_gradient();
  Tape tape;
  RelativeAttention a = form.attention(inputs);
  a.factor = 3;
  a.score_function = function;
  change(a);
  Tensor p, y = composed_attention(
                a, [&](const Tensor&shares) { p = shares.detach(); }, editor);
  tape.backward(y, random_cotangent(form));
  all = {y, p};
  for (const Tensor& input : inputs)
    all.push_back(input.gradient().defined() ? input.gradient() : Tensor::zeros(input.shape()));
  if (function && function->parameters.defined())
    all.push_back(function->parameters.gradient().detach());
  return all;
}

}  // namespace

TEST_CASE("an editor changes the terms before the function, a recorder is told what comes behind") {
  const AttentionForm form{.name = "", .terms = "g", .T = 5, .K = 7, .visibility = causal};
  const std::vector<Tensor> values = random_inputs(form);
  auto distance = std::make_shared<LogDistance>();
  distance->parameters = RandomValues(4).tensor({2, 1}).require_gradient();
  auto as_it_is = [](RelativeAttention&) {};
  auto doubled_alone = [](RelativeAttention& a) {
    a.query = scale(a.query, 2);
    a.key_scores = Tensor();
  };
  TermEditor editor = [](std::vector<ScoreTerm>& terms) {
    std::erase_if(terms, [](const ScoreTerm& term) { return term.name == "key_scores"; });
    CHECK(terms.size() == 1);
    terms[0].scores = scale(terms[0].scores, 2);
  };
  for (const std::shared_ptr<ScoreFunction>& function :
       std::vector<std::shared_ptr<ScoreFunction>>{std::make_shared<SoftCap>(0.5), distance}) {
    std::vector<Tensor> edited = told(form, values, function, as_it_is, editor);
    std::vector<Tensor> expected = told(form, values, function, doubled_alone, {});
    REQUIRE(edited.size() == expected.size());
    for (size_t n = 0; n < edited.size(); ++n) {
      CAPTURE(n);
      CHECK(relative_error(edited[n], expected[n]) <= exactness);
    }
    CHECK(relative_error(told(form, values, nullptr, as_it_is, editor)[1], edited[1]) > 1e-3);
    CHECK(relative_error(told(form, values, function, as_it_is, {})[1], edited[1]) > 1e-3);
    RelativeAttention a = form.attention(values);
    a.factor = 3;
    a.score_function = function;
    doubled_alone(a);
    CHECK(relative_error(relative_attention(a), edited[0]) <= exactness);
  }
}

TEST_CASE("a soft cap: values and gradients") {
  check_rows({{"soft cap",
               {{2, 2, 3, 17}},
               [](const std::vector<Tensor>& in) { return capped(in[0], 0.75, 2); },
               [](const std::vector<Numbers>& in) {
                 Numbers y(in[0].shape);
                 for (size_t n = 0; n < y.values.size(); ++n)
                   y.values[n] = Bounded(0.75) * tanh(Bounded(2) * in[0].values[n] / Bounded(0.75));
                 return y;
               }}});
}

TEST_CASE("a soft cap in attention: the kernel and its twin agree, and nothing exceeds the cap") {
  std::vector<Tensor> inputs = long_inputs();
  auto cap = std::make_shared<SoftCap>(0.5);
  auto run = [&](Op op) {
    std::vector<Tensor> own, all;
    for (const Tensor& input : inputs) own.push_back(input.detach().require_gradient());
    Tape tape;
    all = {with_function(cap, own, op)};
    tape.backward(all[0], RandomValues(2).tensor(all[0].shape()));
    for (const Tensor& input : own) all.push_back(input.gradient());
    return all;
  };
  std::vector<Tensor> kernel = run(relative_attention), twin = run(composed);
  for (size_t n = 0; n < kernel.size(); ++n) {
    std::vector<Scalar> of_kernel = kernel[n].values(), of_twin = twin[n].values();
    double greatest = 0, apart = 0;
    for (size_t m = 0; m < of_kernel.size(); ++m) {
      greatest = std::max(greatest, std::abs(static_cast<double>(of_twin[m])));
      apart = std::max(apart, std::abs(static_cast<double>(of_kernel[m] - of_twin[m])));
    }
    CHECK(greatest > 0);
    CHECK(apart <= 64 * epsilon * greatest);
  }
  for (Scalar score : capped(RandomValues(3).tensor({1, 1, 9, 40}), 0.5, 100).values())
    CHECK(std::abs(score) <= Scalar{0.5});
}

TEST_CASE("an infinite slope of a pair without weight passes nothing on") {
  struct Root : ScoreFunction {  // sign(s) √|s|, whose slope at 0 is infinite
    void forward(const ScoreRow& row, Scalar* scores, Scalar* slopes) const override {
      for (int64_t n = 0; n < row.count; ++n) {
        const Scalar root = std::sqrt(std::abs(scores[n]));
        if (slopes) slopes[n] = 1 / (2 * root);
        scores[n] = std::copysign(root, scores[n]);
      }
    }
  };
  AttentionForm form{.name = "", .T = 2, .K = 4, .visibility = {{false}, last_keys({2, 4}, 1)}};
  for (Op op : {relative_attention, composed}) {
    std::vector<Tensor> inputs = random_inputs(form);
    inputs[1] = with_tokens(
                    inputs[1], [](int64_t, int64_t j) { return j == 3; }, 0)
                    .require_gradient();
    RelativeAttention a = form.attention(inputs);
    a.score_function = std::make_shared<Root>();
    Tape tape;
    tape.backward(op(a), random_cotangent(form));
    for (const Tensor& input : inputs)
      for (Scalar slope : input.gradient().values()) CHECK(std::isfinite(slope));
  }
}

TEST_CASE("a function is asked for what a query sees alone, in the kernel and its twin") {
  const AttentionForm form{.name = "", .T = 5, .K = 7, .visibility = causal};
  std::vector<Tensor> slopes;
  for (Op op : {relative_attention, composed}) {
    std::vector<Tensor> inputs = random_inputs(form);
    auto function = std::make_shared<LogDistance>();
    function->parameters = RandomValues(4).tensor({2, 1}).require_gradient();
    RelativeAttention a = form.attention(inputs);
    a.score_function = function;
    Tape tape;
    tape.backward(op(a), random_cotangent(form));
    slopes.push_back(function->parameters.gradient());
    for (Scalar slope : slopes.back().values()) CHECK(std::isfinite(slope));
  }
  for (size_t n : {0, 1})
    CHECK(std::abs(slopes[0].values()[n] - slopes[1].values()[n]) <= 64 * epsilon);
}

TEST_CASE("score functions are refused by name") {
  for (double cap : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    CHECK(refusal([&] { SoftCap{cap}; }) ==
          text("soft cap: ", cap, ", expected a number above 0 within the range of the tensors"));
  auto shifted = std::make_shared<Shifted>();
  std::vector<Tensor> inputs = long_inputs();
  for (Op op : {relative_attention, composed}) {
    for (const Dims& shape : {Dims{3, 1}, Dims{2}, Dims{2, 1, 1}}) {
      shifted->parameters = Tensor::zeros(shape);
      CHECK(refusal([&] { with_function(shifted, inputs, op); }) ==
            text("relative_attention: parameters of the score function ", shape,
                 ", expected [2 or 1, n]"));
    }
    shifted->parameters = Tensor::zeros({1, 1});
    CHECK(with_function(shifted, inputs, op).defined());
    shifted->parameters.require_gradient();
    Tape tape;
    Tensor y = with_function(shifted, inputs, op);
    CHECK(refusal([&] { tape.backward(y, Tensor::full(y.shape(), 1)); }) ==
          "score function: parameters [1, 1] without a backward() of its own");
  }
}

}  // namespace shiftgrad::test::attention_forms
