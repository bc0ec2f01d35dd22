#include "ops/attention.h"

#include "core/machine/allocator.h"
#include "core/machine/parallel.h"
#include "ops/concat.h"
#include "tests/support/attention_forms.h"
#include "tests/support/in_bfloat16.h"

namespace shiftgrad::test::attention_forms {

TEST_CASE("attention: values and gradients of the kernel, at every arrangement in memory") {
  check_rows(
      {row({.name = "all terms", .terms = "uvrpsabgzf", .B = 1, .T = 2, .visibility = causal},
           relative_attention)});
}

TEST_CASE("attention: gradients of kernel and twin against difference quotients") {
  for (const std::vector<AttentionForm>& forms : {small_forms(), masked_forms()})
    for (const AttentionForm& form : forms)
      for (Op op : {relative_attention, composed}) {
        CAPTURE(form.name);
        bool of_kernel = op == relative_attention;
        CAPTURE(of_kernel);
        std::vector<Arrangement> dense(form.shapes().size(), Arrangement::dense);
        check_arranged(row(form, op), dense, 5);
      }
}

TEST_CASE("attention: several blocks, kernel and twin against the formulas of both passes") {
  for (const AttentionForm& form : long_forms()) {
    CAPTURE(form.name);
    std::vector<Tensor> inputs = random_inputs(form);
    Tensor cotangent = random_cotangent(form);
    const std::vector<Numbers>& expected = expected_results(form);
    for (Op op : {relative_attention, composed}) {
      bool of_kernel = op == relative_attention;
      CAPTURE(of_kernel);
      std::vector<Tensor> got = results(form, inputs, cotangent, op);
      for (size_t n = 0; n <= inputs.size(); ++n) {
        CAPTURE(n);
        CHECK(mismatch(got[n], expected[n]) == "");
      }
    }
  }
}

#ifndef SHIFTGRAD_DOUBLE
TEST_CASE("attention in bfloat16: near the formulas, and the same bits on any number of threads") {
  InBfloat16 rounded;
  std::vector<AttentionForm> forms = long_forms();
  forms.push_back({.name = "few queries of many keys, wide heads",
                   .terms = "uvrpsabgz",
                   .H = 1,
                   .T = 17,
                   .K = 470,
                   .D = 300,
                   .visibility = causal});
  for (const AttentionForm& form : forms) {
    CAPTURE(form.name);
    std::vector<Tensor> inputs = random_inputs(form), got, shared;
    Tensor cotangent = random_cotangent(form);
    const std::vector<Numbers>& expected = expected_results(form);
    with_threads(1, [&] { got = results(form, inputs, cotangent); });
    with_threads(3, [&] { shared = results(form, inputs, cotangent); });
    check_same(shared, got);
    for (size_t n = 0; n <= inputs.size(); ++n) {
      CAPTURE(n);
      std::vector<Scalar> values = got[n].values();
      size_t wrong = 0;
      for (size_t m = 0; m < values.size(); ++m) {
        // The oracle's bound is for numbers of 24 bits, and grows with the size of a rounding.
        double error = std::abs(static_cast<double>(values[m]) - expected[n].values[m].value);
        if (!(error <= (1 << 16) * expected[n].values[m].tolerance())) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("attention in bfloat16: up to 8 queries are as in floats, and more are rounded") {
  for (const char* terms : {"uvrpsabgz", "a", "b"})
    for (int64_t T : {1, 8, 9}) {
      CAPTURE(terms);
      CAPTURE(T);
      AttentionForm form{.name = "", .terms = terms, .H = 2, .T = T, .K = T + 70, .D = 16};
      form.visibility = causal;
      std::vector<Tensor> inputs = random_inputs(form);
      Tensor cotangent = random_cotangent(form);
      std::vector<Tensor> exact = results(form, inputs, cotangent);
      InBfloat16 rounded;
      std::vector<Tensor> got = results(form, inputs, cotangent);
      for (size_t n = 0; n < got.size(); ++n) CHECK(same_bits(got[n], exact[n]) == (T <= 8));
    }
}
#endif

TEST_CASE("attention: without a tape the same bits, and nothing recorded") {
  for (const AttentionForm& form : long_forms()) {
    CAPTURE(form.name);
    std::vector<Tensor> inputs = random_inputs(form);
    Tensor alone = relative_attention(form.attention(inputs));
    CHECK_FALSE(alone.requires_gradient());
    CHECK(same_bits(alone, results(form, inputs, random_cotangent(form))[0]));
  }
}

TEST_CASE("attention: the output is merged without a copy") {
  AttentionForm form{.name = "", .visibility = causal};
  Tensor y = relative_attention(form.attention(random_inputs(form)));
  CHECK(merge_heads(y).shares_storage(y));
}

TEST_CASE("attention: a gradient of any strides, and a view of the output, give the same bits") {
  AttentionForm form{
      .name = "", .terms = "uvrpsabgz", .T = 100, .K = 120, .D = 5, .visibility = causal};
  std::vector<Tensor> values = random_inputs(form);
  Tensor cotangent = random_cotangent(form);
  std::vector<Tensor> expected = results(form, values, cotangent);
  Tensor turned = contiguous(transpose(cotangent));  // [B, H, D, T]
  check_same(results(form, values, transpose(turned)), expected);
  auto transposed = [](const RelativeAttention& a) { return transpose(relative_attention(a)); };
  std::vector<Tensor> of_view = results(form, values, turned, transposed);
  of_view[0] = transpose(of_view[0]);
  check_same(of_view, expected);
}

TEST_CASE("attention: inputs that share elements get the gradients of query, key, value in order") {
  constexpr int64_t H = 8, T = 100;
  AttentionForm form{.name = "", .B = 2, .H = H, .T = T, .K = T, .D = 10, .visibility = causal};
  const Tensor x = RandomValues(3).tensor({2, T + 1, T + 1, 10});
  const Tensor cotangent = random_cotangent(form);
  // A part of x: its heads and its tokens from these on, or its tokens for heads.
  struct Part {
    int64_t head = 0, token = 0;
    bool swapped = false;
    Tensor of(const Tensor& all) const {
      Tensor turned = swapped ? transpose(all, 1, 2) : all;
      return slice(slice(turned, 1, head, head + H), 2, token, token + T);
    }
  };
  // Were tasks to add to elements that heads share, those of an earlier head would come first:
  // other bits, even on one thread.
  using Parts = std::array<Part, 3>;  // of query, key and value
  for (const Parts& parts :
       {Parts{}, Parts{{{0, 0}, {0, 1}, {0, 1}}}, Parts{{{0, 1}, {0, 0}, {0, 1}}},
        Parts{{{0, 0}, {0, 0}, {1, 0}}}, Parts{{{1, 1}, {0, 0}, {0, 1}}},
        Parts{{{0, 0}, {1, 0}, {0, 0}}}, Parts{{{0, 0}, {0, 0}, {0, 0, true}}},
        Parts{{{0, 0}, {H, 0}, {2 * H, 0}}}}) {
    std::vector<Tensor> copies;
    for (const Part& part : parts) copies.push_back(contiguous(part.of(x)));
    std::vector<Tensor> apart = results(form, copies, cotangent);
    Tensor expected = Tensor::zeros(x.shape()).require_gradient();
    for (size_t n = 0; n < parts.size(); ++n) {
      Tape tape;
      tape.backward(parts[n].of(expected), apart[n + 1]);
    }
    for (int threads : {1, 2, 4})
      with_threads(threads, [&] {
        CAPTURE(threads);
        Tensor leaf = x.detach().require_gradient();
        std::vector<Tensor> shared;
        Tape tape;
        for (const Part& part : parts) shared.push_back(part.of(leaf));
        tape.backward(relative_attention(form.attention(shared)), cotangent);
        CHECK(same_bits(leaf.gradient(), expected.gradient()));
      });
  }
}

TEST_CASE("attention: the same bits on any number of threads") {
  for (auto [B, H, T, K] : {std::array{1, 2, 300, 300},
                            {2, 4, 130, 200},
                            {5, 7, 20, 33},
                            {1, 1, 90, 700},
                            {1, 2, 140, 700},
                            {2, 8, 1, 50}}) {
    AttentionForm form{.name = "",
                       .terms = "uvrpsabgz",
                       .B = B,
                       .H = H,
                       .T = T,
                       .K = K,
                       .D = 8,
                       .clip = 5,
                       .visibility = causal,
                       .dropout = 0.2};
    CAPTURE(form.T);
    std::vector<Tensor> inputs = random_inputs(form), alone;
    Tensor cotangent = random_cotangent(form);
    with_threads(1, [&] { alone = results(form, inputs, cotangent); });
    for (int threads : {2, 4})
      with_threads(threads, [&] { check_same(results(form, inputs, cotangent), alone); });
  }
}

TEST_CASE("attention: memory grows as the length") {
  auto peak = [](int64_t T) {
    AttentionForm form{
        .name = "", .terms = "uvrs", .B = 1, .H = 2, .T = T, .K = T, .D = 16, .visibility = causal};
    std::vector<Tensor> inputs = random_inputs(form);
    Tensor cotangent = random_cotangent(form);
    int64_t most = 0;
    // Each thread that takes part has scratch memory of its own; how many do is up to chance.
    with_threads(1, [&] {
      int64_t before = allocator_counters().bytes_in_use;
      reset_peak();
      results(form, inputs, cotangent);
      most = allocator_counters().peak_bytes_in_use - before;
    });
    return static_cast<double>(most);
  };
  double at_1024 = peak(1024), at_4096 = peak(4096);
  CHECK(at_4096 <= 4.2 * at_1024);
  CHECK(at_4096 < 4096.0 * 4096.0 * sizeof(Scalar));
}

TEST_CASE("attention: passes of one size ask the system for no memory but the first time") {
  if (!allocator_caches()) return;
  AttentionForm form{.name = "",
                     .terms = "uvrpsabgz",
                     .T = 150,
                     .K = 170,
                     .D = 8,
                     .visibility = causal,
                     .dropout = 0.1};
  std::vector<Tensor> inputs = random_inputs(form);
  Tensor cotangent = random_cotangent(form);
  with_threads(1, [&] {
    results(form, inputs, cotangent);
    int64_t before = allocator_counters().system_allocations;
    for (int pass = 0; pass < 3; ++pass) results(form, inputs, cotangent);
    CHECK(allocator_counters().system_allocations == before);
  });
}

TEST_CASE("attention: any size may be 0, and every gradient is there") {
  for (const std::string& terms : variants)
    for (bool past_only : {true, false})
      for (Op op : {relative_attention, composed})
        for (auto [B, H, T, K, D] : {std::array{0, 2, 3, 3, 2},
                                     {2, 0, 3, 3, 2},
                                     {2, 2, 0, 3, 2},
                                     {2, 2, 3, 0, 2},
                                     {2, 2, 3, 3, 0},
                                     {2, 2, 0, 0, 2},
                                     {0, 0, 0, 0, 0}}) {
          Dims sizes{B, H, T, K, D};
          bool of_kernel = op == relative_attention;
          CAPTURE(terms);
          CAPTURE(past_only);
          CAPTURE(sizes);
          CAPTURE(of_kernel);
          AttentionForm form{.name = "",
                             .terms = terms,
                             .B = B,
                             .H = H,
                             .T = T,
                             .K = K,
                             .D = D,
                             .visibility = {past_only, {}, {}, {}}};
          std::vector<Tensor> inputs = random_inputs(form);
          std::vector<Tensor> got = results(form, inputs, random_cotangent(form), op);
          CHECK(same_bits(got[0], Tensor::zeros({B, H, T, D})));
          for (size_t n = 1; n < got.size(); ++n)
            CHECK((!got[n].defined() || same_bits(got[n], Tensor::zeros(inputs[n - 1].shape()))));
        }
}

TEST_CASE("attention: the factor is 1 unless one is set") {
  AttentionForm form{.name = "", .terms = "uvrpsabgz", .visibility = causal, .factor = 1};
  RelativeAttention a = form.attention(random_inputs(form));
  for (Op op : {relative_attention, composed}) {
    a.factor = 1;
    Tensor set = op(a);
    a.factor.reset();
    CHECK(same_bits(op(a), set));
  }
}

TEST_CASE("attention: a part of the batch drops what the whole drops there") {
  AttentionForm form{.name = "",
                     .terms = "uvrpsabgz",
                     .B = 3,
                     .T = 100,
                     .K = 110,
                     .D = 3,
                     .visibility = causal,
                     .dropout = 0.3};
  std::vector<Tensor> inputs = random_inputs(form);
  for (Op op : {relative_attention, composed}) {
    Tensor whole = op(form.attention(inputs));
    std::vector<Tensor> of_part = inputs;
    for (size_t n : {size_t{0}, size_t{1}, size_t{2}, 3 + form.terms.find('g')})
      of_part[n] = slice(inputs[n], 0, 1, 3);
    RelativeAttention part = form.attention(of_part);
    part.dropout.first_row = 1;
    CHECK(same_bits(op(part), slice(whole, 0, 1, 3)));
  }
}

TEST_CASE("attention: a query that all members share gets the sum of their gradients") {
  AttentionForm form{.name = "", .terms = "uvrpsabgz", .visibility = causal};
  std::vector<Tensor> inputs = random_inputs(form);
  Tensor cotangent = random_cotangent(form), one = slice(inputs[0], 0, 0, 1).detach();
  Dims shape = inputs[0].shape();
  inputs[0] = concat({one, one}, 0);
  Tensor of_each = results(form, inputs, cotangent)[1];  // [2, H, T, D]
  Tensor shared = one.detach().require_gradient();
  for (int pass : {1, 2}) {
    inputs[0] = expand(shared, shape);
    Tape tape;
    tape.backward(relative_attention(form.attention(inputs)), cotangent);
    Numbers expected = numbers(slice(of_each, 0, 0, 1)), other = numbers(slice(of_each, 0, 1, 2));
    for (size_t n = 0; n < expected.values.size(); ++n)
      expected.values[n] = Bounded(pass) * (expected.values[n] + other.values[n]);
    CHECK(mismatch(shared.gradient(), expected) == "");
  }
}

TEST_CASE("composed attention shows probabilities before dropout") {
  AttentionForm form{.name = "", .terms = "uvrpsabgz", .visibility = causal, .dropout = 0.4};
  RelativeAttention a = form.attention(random_inputs(form));
  Tensor shown;
  Tensor dropped = composed_attention(a, [&](const Tensor& p) { shown = p.detach(); });
  CHECK(same_bits(shown, attention_probabilities(a)));
  a.dropout = {};
  CHECK_FALSE(same_bits(composed_attention(a), dropped));
}

}  // namespace shiftgrad::test::attention_forms
