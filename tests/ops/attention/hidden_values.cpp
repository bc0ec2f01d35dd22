// What a query does not see changes no bit of its results, and what is not finite spoils those
// alone that see it.

#include "core/machine/parallel.h"
#include "ops/attention.h"
#include "tests/support/attention_forms.h"

namespace shiftgrad::test::attention_forms {

TEST_CASE("attention: whatever hidden keys hold, no other bit changes") {
  std::vector<AttentionForm> forms = masked_forms();
  forms.push_back({.name = "long padding",
                   .terms = "uvrpsabgz",
                   .T = 100,
                   .K = 130,
                   .D = 3,
                   .visibility = {{true, 50}, some({2, 130})}});
  for (const AttentionForm& form : forms) {
    CAPTURE(form.name);
    auto unseen = [&](int64_t b, int64_t j) {
      for (int64_t i = 0; i < form.T; ++i)
        if (is_seen(form.visibility, b, i, j, form.T, form.K)) return false;
      return true;
    };
    std::vector<Tensor> inputs = random_inputs(form);
    Tensor cotangent = random_cotangent(form);
    for (Op op : {relative_attention, composed}) {
      bool of_kernel = op == relative_attention;
      CAPTURE(of_kernel);
      std::vector<Tensor> expected = results(form, inputs, cotangent, op);
      for (Scalar extreme : extremes) {
        CAPTURE(extreme);
        std::vector<Tensor> changed = inputs;
        for (size_t n : {1, 2}) changed[n] = with_tokens(inputs[n], unseen, extreme);
        check_same(results(form, changed, cotangent, op), expected);
      }
    }
  }
}

TEST_CASE(
    "attention: to a gradient that is there, each block adds once, whatever hidden keys hold") {
  AttentionForm form{.name = "",
                     .terms = "uvrpsabgz",
                     .T = 210,
                     .K = 230,
                     .D = 3,
                     .visibility = {{true}, one_member({2, 230}, 1)}};
  std::vector<Tensor> inputs = random_inputs(form);
  Tensor cotangent = random_cotangent(form);
  auto padding = [](int64_t b, int64_t) { return b == 1; };
  for (Op op : {relative_attention, composed}) {
    bool of_kernel = op == relative_attention;
    CAPTURE(of_kernel);
    std::vector<Tensor> changed = inputs;
    for (size_t n : {1, 2}) changed[n] = with_tokens(inputs[n], padding, not_a_number);
    check_same(results(form, changed, cotangent, op, 2), results(form, inputs, cotangent, op, 2));
  }
}

TEST_CASE("attention: the future changes no bit of the past") {
  for (const std::string& terms : variants) {
    AttentionForm form{
        .name = "", .terms = terms, .T = 90, .K = 110, .D = 3, .clip = 4, .visibility = causal};
    CAPTURE(terms);
    for (int64_t now : {1, 17, 64, 89}) {
      CAPTURE(now);
      auto later_query = [&](int64_t, int64_t t) { return t >= now; };
      auto later_key = [&](int64_t, int64_t t) { return t >= now + form.K - form.T; };
      std::vector<Tensor> inputs = random_inputs(form);
      Tensor cotangent = with_tokens(random_cotangent(form), later_query, 0);
      auto past = [&](const std::vector<Tensor>& all) {
        std::vector<Tensor> kept = all;
        kept[0] = slice(kept[0], 2, 0, now);
        return kept;
      };
      for (Op op : {relative_attention, composed}) {
        bool of_kernel = op == relative_attention;
        CAPTURE(of_kernel);
        std::vector<Tensor> expected = past(results(form, inputs, cotangent, op));
        for (Scalar extreme : extremes) {
          CAPTURE(extreme);
          std::vector<Tensor> changed = inputs;
          // A finite query of such a size has finite scores, which are not 0 for the keys it sees.
          if (!std::isfinite(extreme)) changed[0] = with_tokens(inputs[0], later_query, extreme);
          for (size_t n : {1, 2}) changed[n] = with_tokens(inputs[n], later_key, extreme);
          check_same(past(results(form, changed, cotangent, op)), expected);
        }
      }
    }
  }
}

TEST_CASE("attention: a NaN in one batch member leaves no trace in another") {
  AttentionForm form{
      .name = "", .terms = "uvrpsabgz", .T = 70, .K = 80, .D = 3, .visibility = causal};
  std::vector<Tensor> inputs = random_inputs(form);
  Tensor cotangent = random_cotangent(form);
  auto of_first = [&](const std::vector<Tensor>& all) {
    std::vector<Tensor> kept;
    for (size_t n = 0; n <= 3; ++n) kept.push_back(slice(all[n], 0, 0, 1));
    return kept;
  };
  std::vector<Tensor> expected = of_first(results(form, inputs, cotangent));
  for (size_t n = 0; n < 3; ++n)
    inputs[n] = with_tokens(
        inputs[n], [](int64_t b, int64_t) { return b == 1; }, not_a_number);
  check_same(of_first(results(form, inputs, cotangent)), expected);
}

TEST_CASE("attention: a NaN score that is seen is not lost, one that is hidden is") {
  AttentionForm form{.name = "", .B = 1, .H = 1, .T = 2, .K = 2, .visibility = causal};
  std::vector<Tensor> inputs = random_inputs(form);
  inputs[1] = with_tokens(
      inputs[1], [](int64_t, int64_t t) { return t == 1; }, not_a_number);
  std::vector<Scalar> y = relative_attention(form.attention(inputs)).values();
  CHECK_FALSE(std::isnan(y[0]));
  CHECK(std::isnan(y[2]));
}

TEST_CASE("attention: a row of scores that all overflow to -inf is one that sees no key") {
  for (Op op : {relative_attention, composed}) {
    AttentionForm form{.name = "", .B = 1, .H = 1, .T = 2, .K = 2, .D = 1};
    std::vector<Tensor> inputs = random_inputs(form);
    Scalar large = std::numeric_limits<Scalar>::max();
    inputs[0] = Tensor::from({1, 1, 2, 1}, std::vector<Scalar>{large, 1});
    inputs[1] = Tensor::from({1, 1, 2, 1}, std::vector<Scalar>{-large, -large / 2});
    std::vector<Tensor> got = results(form, inputs, random_cotangent(form), op);
    CHECK(got[0].values()[0] == 0);
    CHECK(got[0].values()[1] == inputs[2].values()[1]);
    CHECK(got[1].values()[0] == 0);  // dq of that row
  }
}

TEST_CASE("attention: what is not finite spoils those that see it, and no bit of the others") {
  AttentionForm form{.name = "",
                     .terms = "uvrpsabgz",
                     .B = 1,
                     .H = 1,
                     .T = 120,
                     .K = 130,
                     .D = 3,
                     .visibility = {{true, 20}, {}, some({1, 120, 130})}};
  auto sees = [&](int64_t i, int64_t j) {
    return is_seen(form.visibility, 0, i, j, form.T, form.K);
  };
  std::vector<Tensor> inputs = random_inputs(form);
  Tensor cotangent = random_cotangent(form);
  for (int64_t ill : {0, 37, 100, 129})
    for (Op op : {relative_attention, composed}) {
      CAPTURE(ill);
      bool of_kernel = op == relative_attention;
      CAPTURE(of_kernel);
      std::vector<Tensor> expected = results(form, inputs, cotangent, op), changed = inputs;
      for (size_t n : {1, 2})
        changed[n] = with_tokens(
            inputs[n], [&](int64_t, int64_t j) { return j == ill; }, not_a_number);
      std::vector<Tensor> got = results(form, changed, cotangent, op);
      auto check_rows = [&](size_t n, auto is_spoilt) {
        CAPTURE(n);
        for (int64_t i = 0; i < got[n].size(2); ++i) {
          CAPTURE(i);
          Tensor row = slice(got[n], 2, i, i + 1);
          if (is_spoilt(i))
            CHECK(std::isnan(row.values()[0]));
          else
            CHECK(same_bits(row, slice(expected[n], 2, i, i + 1)));
        }
      };
      auto spoilt_query = [&](int64_t i) { return sees(i, ill); };
      auto spoilt_key = [&](int64_t j) {
        for (int64_t i = 0; i < form.T; ++i)
          if (sees(i, j) && sees(i, ill)) return true;
        return false;
      };
      for (size_t n : {0, 1}) check_rows(n, spoilt_query);  // y, dq
      for (size_t n : {2, 3}) check_rows(n, spoilt_key);    // dk, dv
    }
}

}  // namespace shiftgrad::test::attention_forms
