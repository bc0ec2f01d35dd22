#include "ops/attention.h"

#include <map>

#include "core/machine/allocator.h"
#include "core/machine/parallel.h"
#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/in_bfloat16.h"
#include "tests/support/op_row.h"
#include "tests/support/oracles/relative_attention.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Op = Tensor (*)(const RelativeAttention&);

Tensor composed(const RelativeAttention& a) { return composed_attention(a); }

const Visibility causal{{true}};

/// The variants' sets of terms.
const std::vector<std::string> variants = {"",   "s",  "uvr", "urs", "rs",     "p",
                                           "rp", "ab", "a",   "b",   "uvrpsab"};

/// Small enough for difference quotients of every input.
std::vector<AttentionForm> small_forms() {
  std::vector<AttentionForm> forms;
  for (const std::string& terms : variants)
    for (bool past_only : {true, false})
      forms.push_back({.name = text(terms, past_only ? ", causal" : ", both ways"),
                       .terms = terms,
                       .visibility = {past_only, {}, {}, {}}});
  forms.push_back({.name = "memory", .terms = "uvrpsab", .K = 5, .visibility = causal});
  forms.push_back({.name = "one query", .terms = "uvrpsab", .T = 1, .K = 4, .visibility = causal});
  forms.push_back({.name = "fewer keys", .terms = "uvrpsab", .T = 4, .K = 2, .visibility = causal});
  forms.push_back({.name = "fewer keys, both ways", .terms = "rpsab", .T = 4, .K = 2});
  forms.push_back({.name = "a position bias of clipped keys alone", .terms = "va"});
  forms.push_back({.name = "shared tables", .terms = "rpab", .shared_tables = true});
  forms.push_back({.name = "one clipped row", .terms = "ab", .clip = 0, .visibility = causal});
  forms.push_back({.name = "wide clip", .terms = "ab", .clip = 4, .visibility = causal});
  forms.push_back({.name = "dropout", .terms = "uvrpsab", .visibility = causal, .dropout = 0.4});
  return forms;
}

/// Rules and masks of every shape, empty rows among them; all for B = 2, T = 3, K = 4.
std::vector<AttentionForm> masked_forms() {
  std::vector<AttentionForm> forms;
  auto form = [&](const std::string& name, const Visibility& visibility) {
    forms.push_back(
        {.name = name, .terms = "uvrpsab", .H = 1, .T = 3, .K = 4, .visibility = visibility});
  };
  form("window", {{false, 2}});
  form("causal window", {{true, 2}});
  form("window of one", {{true, 1}});
  form("window to both sides", {{false, Window{0, 2}}});
  form("chunks", {.sight = {.causal = false, .chunk = Chunk{2, 0}}});
  form("chunks of the past, from position 1",
       {.sight = {.causal = true, .chunk = Chunk{2, 1}}, .first_position = 1});
  form("padding", {{false}, some({2, 4})});
  form("one member is padding", {{true}, one_member({2, 4}, 1)});
  for (const Dims& shape : {Dims{3, 4}, Dims{1, 4}, Dims{2, 3, 4}, Dims{1, 3, 4}, Dims{2, 1, 4}})
    form(text("hidden ", shape), {{false}, {}, some(shape)});
  form("all at once", {{true, 2}, some({2, 4}), some({2, 3, 4})});
  return forms;
}

/// A mask that hides the first keys of the last batch member.
std::shared_ptr<const Mask> first_keys(const Dims& shape, int64_t count) {
  Mask mask{shape, {}};
  for (int64_t n = 0; n < product(shape); ++n)
    mask.values.push_back(n >= product(shape) - shape[1] && n % shape[1] < count);
  return std::make_shared<const Mask>(mask);
}

/// A mask that hides the last keys of every batch member.
std::shared_ptr<const Mask> last_keys(const Dims& shape, int64_t count) {
  Mask mask{shape, {}};
  for (int64_t n = 0; n < product(shape); ++n)
    mask.values.push_back(n % shape[1] >= shape[1] - count);
  return std::make_shared<const Mask>(mask);
}

/// Several blocks of queries, and heads whose blocks several tasks share.
std::vector<AttentionForm> long_forms() {
  std::vector<AttentionForm> forms;
  for (const std::string& terms : variants)
    for (bool past_only : {true, false})
      forms.push_back({.name = text("long ", terms, past_only ? ", causal" : ", both ways"),
                       .terms = terms,
                       .B = 1,
                       .T = 131,
                       .K = 170,
                       .D = 3,
                       .clip = 9,
                       .visibility = {past_only, {}, {}, {}}});
  auto form = [&](const std::string& name, int64_t T, int64_t K, const Visibility& visibility,
                  double dropout) {
    forms.push_back({.name = name,
                     .terms = "uvrpsab",
                     .B = 2,
                     .H = 1,
                     .T = T,
                     .K = K,
                     .D = 5,
                     .clip = 3,
                     .visibility = visibility,
                     .dropout = dropout});
  };
  form("window", 150, 190, {{true, 33}}, 0);
  form("narrow window", 200, 200, {{true, 2}}, 0);
  form("window both ways", 150, 190, {{false, 40}}, 0);
  form("window to both sides", 150, 190, {{false, Window{70, 9}}}, 0);
  form("window over several tiles", 100, 1100, {{false, Window{20, 3}}}, 0.1);
  form("chunks", 200, 230, {.sight = {.causal = false, .chunk = Chunk{32, 1}}}, 0.1);
  form("chunks of the past", 200, 900, {.sight = {.causal = true, .chunk = Chunk{50, 2}}}, 0);
  form("masks", 100, 100, {{true}, some({2, 100}), some({2, 100, 100})}, 0);
  form("dropout", 130, 140, causal, 0.3);
  form("many keys", 3, 700, causal, 0);
  form("many keys, one query", 1, 900, causal, 0.1);
  form("probabilities made again", 70, 600, {{true, 500}}, 0.2);
  form("long memory", 135, 620, causal, 0);
  form("fewer keys", 150, 40, causal, 0);
  form("several tiles", 100, 850, {{false}}, 0.1);
  form("several tiles, past only", 200, 900, causal, 0);
  form("a window of several tiles", 110, 1000, {{true, 800}}, 0.2);
  form("a tile that few queries see", 200, 800, {{false, 300}}, 0);
  form("masks over several tiles", 20, 900, {{true}, some({2, 900}), some({2, 20, 900})}, 0);
  form("padding of whole tiles", 20, 1300, {{false}, last_keys({2, 1300}, 600)}, 0);
  form("padding of a whole first tile", 20, 1300, {{false}, first_keys({2, 1300}, 600)}, 0);
  form("a member that is all padding", 120, 500, {{true}, one_member({2, 500}, 1)}, 0.1);
  form("a first member that is all padding", 20, 500, {{false}, one_member({2, 500}, 0)}, 0);
  form("a tile that one member hides", 20, 500, {{false}, first_keys({2, 500}, 430)}, 0.1);
  return forms;
}

OpRow row(const AttentionForm& form, Op op) {
  return {form.name, form.shapes(),
          [=](const std::vector<Tensor>& in) { return op(form.attention(in)); },
          [=](const std::vector<Numbers>& in) {
            AttentionOracle oracle(form, in);
            oracle.forward();
            return oracle.y;
          }};
}

std::vector<Tensor> random_inputs(const AttentionForm& form, uint64_t seed = 1) {
  RandomValues random(seed);
  std::vector<Tensor> inputs;
  for (const Dims& shape : form.shapes()) inputs.push_back(random.tensor(shape).require_gradient());
  return inputs;
}

/// y, then the gradients of all inputs.
std::vector<Tensor> results(const AttentionForm& form, const std::vector<Tensor>& values,
                            const Tensor& cotangent, Op op = relative_attention) {
  std::vector<Tensor> inputs;
  for (const Tensor& value : values) inputs.push_back(value.detach().require_gradient());
  Tape tape;
  std::vector<Tensor> all = {op(form.attention(inputs))};
  tape.backward(all[0], cotangent);
  for (const Tensor& input : inputs) all.push_back(input.gradient());
  return all;
}

/// Returns what the oracle says of the same.
std::vector<Numbers> oracle_results(const AttentionForm& form, const std::vector<Tensor>& values,
                                    const Tensor& cotangent) {
  std::vector<Numbers> inputs;
  for (const Tensor& value : values) inputs.push_back(numbers(value));
  AttentionOracle oracle(form, inputs);
  oracle.forward();
  oracle.backward(numbers(cotangent));
  std::vector<Numbers> all = {oracle.y};
  all.insert(all.end(), oracle.gradients.begin(), oracle.gradients.end());
  return all;
}

Tensor random_cotangent(const AttentionForm& form) {
  return RandomValues(2).tensor({form.B, form.H, form.T, form.D});
}

/// The formulas' results for these two, which are computed once: they take as long as all else here.
const std::vector<Numbers>& expected_results(const AttentionForm& form) {
  static std::map<std::string, std::vector<Numbers>> known;
  auto [found, is_new] = known.try_emplace(form.name);
  if (is_new) found->second = oracle_results(form, random_inputs(form), random_cotangent(form));
  return found->second;
}

/// x with all numbers for which chosen(b, h, t) set to `value`.
template <class Chosen>
Tensor with_tokens(const Tensor& x, Chosen chosen, Scalar value) {
  Tensor result = Tensor::from(x.shape(), x.values());
  for_each_index(x.shape(), [&](const Dims& index) {
    if (chosen(index[0], index[2])) result.mutable_data()[position(result.layout(), index)] = value;
  });
  return result;
}

/// What hidden tokens may hold.
const std::vector<Scalar> extremes = {0,         1e4,       -1e4,         Scalar{1e30f},
                                      Scalar{-1e30f}, infinity, -infinity, not_a_number};

void check_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  for (size_t n = 0; n < expected.size(); ++n) {
    CAPTURE(n);
    CHECK(same_bits(got[n], expected[n]));
  }
}

}  // namespace

TEST_CASE("attention: values and gradients of the kernel, at every arrangement in memory") {
  check_rows({row({.name = "all terms", .terms = "uvrpsab", .B = 1, .T = 2, .visibility = causal},
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
                   .terms = "uvrpsab",
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
      .name = "", .terms = "uvrpsab", .T = 100, .K = 120, .D = 5, .visibility = causal};
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

TEST_CASE("attention: whatever hidden keys hold, no other bit changes") {
  std::vector<AttentionForm> forms = masked_forms();
  forms.push_back({.name = "long padding",
                   .terms = "uvrpsab",
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
      .name = "", .terms = "uvrpsab", .T = 70, .K = 80, .D = 3, .visibility = causal};
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

TEST_CASE("attention: the same bits on any number of threads") {
  for (auto [B, H, T, K] : {std::array{1, 2, 300, 300},
                            {2, 4, 130, 200},
                            {5, 7, 20, 33},
                            {1, 1, 90, 700},
                            {1, 2, 140, 700},
                            {2, 8, 1, 50}}) {
    AttentionForm form{.name = "",
                       .terms = "uvrpsab",
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
                     .terms = "uvrpsab",
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
                     .terms = "uvrpsab",
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

namespace {

/// What kernel and twin say of a form's zeros after a change.
template <class Change>
std::string refused(const AttentionForm& form, Change change) {
  std::vector<Tensor> inputs;
  for (const Dims& shape : form.shapes()) inputs.push_back(Tensor::zeros(shape));
  RelativeAttention a = form.attention(inputs);
  change(a);
  std::string of_kernel = refusal([&] { relative_attention(a); });
  CHECK(refusal([&] { composed_attention(a); }) == of_kernel);
  return of_kernel;
}

}  // namespace

TEST_CASE("attention: the factor is 1 unless one is set") {
  AttentionForm form{.name = "", .terms = "uvrpsab", .visibility = causal, .factor = 1};
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
                     .terms = "uvrpsab",
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
    for (size_t n = 0; n < 3; ++n) of_part[n] = slice(inputs[n], 0, 1, 3);
    RelativeAttention part = form.attention(of_part);
    part.dropout.first_row = 1;
    CHECK(same_bits(op(part), slice(whole, 0, 1, 3)));
  }
}

TEST_CASE("attention: a query that all members share gets the sum of their gradients") {
  AttentionForm form{.name = "", .terms = "uvrpsab", .visibility = causal};
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
  AttentionForm form{.name = "", .terms = "uvrpsab", .visibility = causal, .dropout = 0.4};
  RelativeAttention a = form.attention(random_inputs(form));
  Tensor shown;
  Tensor dropped = composed_attention(a, [&](const Tensor& p) { shown = p.detach(); });
  CHECK(same_bits(shown, attention_probabilities(a)));
  a.dropout = {};
  CHECK_FALSE(same_bits(composed_attention(a), dropped));
}

TEST_CASE("attention refuses shapes and masks that do not fit, by name") {
  AttentionForm form{.name = "", .terms = "uvrpsab", .visibility = causal};
  CHECK(refused(form,
                [](auto& a) {
                  a.key = Tensor::zeros({2, 2, 3, 4});
                }) ==
        "relative_attention: query [2, 2, 3, 2], key [2, 2, 3, 4], value [2, 2, 3, 2]: expected "
        "[B, H, T, D], and [B, H, K, D] twice");
  CHECK(refused(form, [](auto& a) { a.content_bias = Tensor::zeros({2}); }) ==
        "relative_attention: content_bias [2], expected [2, 2]");
  CHECK(refused(form, [](auto& a) {
          a.position_bias = Tensor::zeros({1, 2});
        }) == "relative_attention: position_bias [1, 2], expected [2, 2]");
  CHECK(refused(form, [](auto& a) {
          a.position_rows = Tensor::zeros({3, 3, 2});
        }) == "relative_attention: position_rows [3, 3, 2], expected [n, 2 or 1, 2]");
  CHECK(refused(form,
                [](auto& a) {
                  a.position_rows = Tensor::zeros({2, 2, 2});
                }) ==
        "relative_attention: position_rows [2, 2, 2] for 3 queries of 3 keys, expected at least 3 "
        "rows");
  CHECK(refused(form, [](auto& a) { a.visibility.sight.causal = false; }) ==
        "relative_attention: position_rows [3, 2, 2] for 3 queries of 3 keys, expected at least 5 "
        "rows");
  CHECK(refused(form, [](auto& a) { a.position_scores = Tensor::zeros({3}); }) ==
        "relative_attention: position_scores [3], expected [n, 2]");
  CHECK(refused(form, [](auto& a) {
          a.clipped_keys = Tensor::zeros({2, 1, 2});
        }) == "relative_attention: clipped_keys [2, 1, 2], expected an odd number of rows, 2m+1");
  CHECK(refused(form, [](auto& a) {
          a.clipped_values = Tensor::zeros({3, 2});
        }) == "relative_attention: clipped_values [3, 2], expected [2m+1, 2 or 1, 2]");
  CHECK(refused(form, [](auto& a) { a.dropout.rate = 1; }) ==
        "relative_attention: a dropout rate of 1, expected 0 to below 1");
  CHECK(refused(form, [](auto& a) { a.dropout.rate = -0.1; }) ==
        "relative_attention: a dropout rate of -0.1, expected 0 to below 1");
  CHECK(refused({.name = "", .terms = "v"}, [](auto&) {}) ==
        "relative_attention: position_bias without position_rows or clipped_keys");
  CHECK(refused(form, [](auto& a) {
          a.visibility.padding = some({2, 4});
        }) == "relative_attention: key_padding_mask [2, 4], expected [2, 3]");
}

TEST_CASE("attention refuses queries, keys and values of other heads, members, widths and ranks") {
  const Dims right{2, 2, 3, 2};
  const std::vector<std::array<Dims, 3>> wrong = {
      {Dims{2, 3, 3, 2}, right, right},           // heads
      {Dims{1, 2, 3, 2}, right, right},           // members
      {Dims{2, 2, 3, 4}, right, right},           // widths
      {right, Dims{2, 2, 4, 2}, right},           // keys and values
      {Dims{2, 3, 2}, right, right},              // ranks
      {right, Dims{2, 3, 2}, Dims{2, 3, 2}}};
  for (const std::array<Dims, 3>& shapes : wrong) {
    auto of_shapes = [&](auto& a) {
      a.query = Tensor::zeros(shapes[0]);
      a.key = Tensor::zeros(shapes[1]);
      a.value = Tensor::zeros(shapes[2]);
    };
    CHECK(refused({.name = ""}, of_shapes) ==
          text("relative_attention: query ", shapes[0], ", key ", shapes[1], ", value ", shapes[2],
               ": expected [B, H, T, D], and [B, H, K, D] twice"));
  }
}

TEST_CASE("attention refuses tables of other heads, widths and lengths, each by its name") {
  using Field = Tensor RelativeAttention::*;
  const AttentionForm both_ways{.name = "", .terms = "uvrpsab"};
  auto with = [&](Field field, const Dims& shape) {
    return refused(both_ways, [&](auto& a) { a.*field = Tensor::zeros(shape); });
  };
  auto say = [](const char* name, const Dims& shape, const char* expected) {
    return text("relative_attention: ", name, " ", shape, expected);
  };
  using R = RelativeAttention;
  const std::pair<const char*, Field> by_distance[] = {{"position_rows", &R::position_rows},
                                                       {"position_queries", &R::position_queries}};
  const std::pair<const char*, Field> clipped[] = {{"clipped_keys", &R::clipped_keys},
                                                   {"clipped_values", &R::clipped_values}};
  for (const Dims& shape : {Dims{5, 3, 2}, {5, 2, 1}, {5, 2}, {5, 2, 2, 1}}) {
    for (auto [name, field] : by_distance)
      CHECK(with(field, shape) == say(name, shape, ", expected [n, 2 or 1, 2]"));
    for (auto [name, field] : clipped)
      CHECK(with(field, shape) == say(name, shape, ", expected [2m+1, 2 or 1, 2]"));
  }
  for (auto [name, field] : by_distance)
    CHECK(with(field, {4, 2, 2}) ==
          say(name, {4, 2, 2}, " for 3 queries of 3 keys, expected at least 5 rows"));
  for (auto [name, field] : clipped)
    for (const Dims& shape : {Dims{0, 2, 2}, {2, 1, 2}})
      CHECK(with(field, shape) == say(name, shape, ", expected an odd number of rows, 2m+1"));
  for (const Dims& shape : {Dims{5, 1}, {5}, {5, 2, 1}})
    CHECK(with(&R::position_scores, shape) ==
          say("position_scores", shape, ", expected [n, 2]"));
  CHECK(with(&R::position_scores, {4, 2}) ==
        say("position_scores", {4, 2}, " for 3 queries of 3 keys, expected at least 5 rows"));
  for (const Dims& shape : {Dims{1, 2}, {2}, {2, 1}, {2, 2, 1}}) {
    CHECK(with(&R::content_bias, shape) == say("content_bias", shape, ", expected [2, 2]"));
    CHECK(with(&R::position_bias, shape) == say("position_bias", shape, ", expected [2, 2]"));
  }
}
