#pragma once

// Forms of attention, with all of its terms, rules and masks, and what kernel and formulas say of
// them.

#include <map>

#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/oracles/relative_attention.h"
#include "tests/support/specials.h"

namespace shiftgrad::test::attention_forms {

using Op = Tensor (*)(const RelativeAttention&);

inline Tensor composed(const RelativeAttention& a) { return composed_attention(a); }

inline const Visibility causal{{true}};

/// The variants' sets of terms.
inline const std::vector<std::string> variants = {
    "", "s", "uvr", "urs", "rs", "p", "rp", "ab", "a", "b", "g", "z", "sg", "f", "uvrpsabgzf"};

/// Small enough for difference quotients of every input.
inline std::vector<AttentionForm> small_forms() {
  std::vector<AttentionForm> forms;
  for (const std::string& terms : variants)
    for (bool past_only : {true, false})
      forms.push_back({.name = text(terms, past_only ? ", causal" : ", both ways"),
                       .terms = terms,
                       .visibility = {past_only, {}, {}, {}}});
  forms.push_back({.name = "memory", .terms = "uvrpsabgzf", .K = 5, .visibility = causal});
  forms.push_back(
      {.name = "one query", .terms = "uvrpsabgzf", .T = 1, .K = 4, .visibility = causal});
  forms.push_back(
      {.name = "fewer keys", .terms = "uvrpsabgzf", .T = 4, .K = 2, .visibility = causal});
  forms.push_back({.name = "fewer keys, both ways", .terms = "rpsab", .T = 4, .K = 2});
  forms.push_back({.name = "a position bias of clipped keys alone", .terms = "va"});
  forms.push_back({.name = "shared tables", .terms = "rpabg", .shared_tables = true});
  forms.push_back({.name = "one clipped row", .terms = "ab", .clip = 0, .visibility = causal});
  forms.push_back({.name = "wide clip", .terms = "ab", .clip = 4, .visibility = causal});
  for (const char* terms : {"", "rpg", "uvrpsabgzf"}) {
    forms.push_back({.name = text("grouped ", terms), .terms = terms, .H = 4, .groups = 2});
    forms.push_back({.name = text("one group ", terms),
                     .terms = terms,
                     .K = 5,
                     .groups = 1,
                     .visibility = causal});
    forms.push_back({.name = text("wider values ", terms), .terms = terms, .value_size = 3});
  }
  forms.push_back({.name = "narrower values of groups, dropout",
                   .terms = "uvrpsabgzf",
                   .H = 4,
                   .groups = 2,
                   .value_size = 1,
                   .visibility = causal,
                   .dropout = 0.4});
  forms.push_back({.name = "dropout", .terms = "uvrpsabgzf", .visibility = causal, .dropout = 0.4});
  return forms;
}

/// Rules and masks of every shape, empty rows among them; all for B = 2, T = 3, K = 4.
inline std::vector<AttentionForm> masked_forms() {
  std::vector<AttentionForm> forms;
  auto form = [&](const std::string& name, const Visibility& visibility) {
    for (const char* terms : {"uvrpsabgz", "f"})
      forms.push_back({.name = text(name, ", ", terms),
                       .terms = terms,
                       .H = 1,
                       .T = 3,
                       .K = 4,
                       .visibility = visibility});
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
  for (bool past_only : {false, true}) {
    form(past_only ? "spans of the past" : "spans",
         {.sight = {.causal = past_only}, .spans = some_spans(2, 3, 4)});
    form(past_only ? "first keys of the past" : "first keys",
         {.sight = {.causal = past_only, .window = 1, .always = 1}});
    form(past_only ? "more first keys than queries of the past" : "more first keys than queries",
         {.sight = {.causal = past_only, .window = 1, .always = 9}});
  }
  form("first keys beside chunks",
       {.sight = {.causal = false, .chunk = Chunk{1, 0}, .always = 2}, .first_position = 3});
  form("all that hides, and first keys", {.sight = {.window = 1, .always = 2},
                                          .padding = some({2, 4}),
                                          .hidden = some({3, 4}),
                                          .spans = some_spans(1, 3, 4)});
  return forms;
}

/// A mask that hides the first keys of the last batch member.
inline std::shared_ptr<const Mask> first_keys(const Dims& shape, int64_t count) {
  Mask mask{shape, {}};
  for (int64_t n = 0; n < product(shape); ++n)
    mask.values.push_back(n >= product(shape) - shape[1] && n % shape[1] < count);
  return std::make_shared<const Mask>(mask);
}

/// A mask that hides the last keys of every batch member.
inline std::shared_ptr<const Mask> last_keys(const Dims& shape, int64_t count) {
  Mask mask{shape, {}};
  for (int64_t n = 0; n < product(shape); ++n)
    mask.values.push_back(n % shape[1] >= shape[1] - count);
  return std::make_shared<const Mask>(mask);
}

/// Several blocks of queries, and heads whose blocks several tasks share.
inline std::vector<AttentionForm> long_forms() {
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
                     // A score function's slopes are made again, so it is no part of what is kept.
                     .terms = K > 512 ? "uvrpsabgzf" : "uvrpsabgz",
                     .B = 2,
                     .H = 1,
                     .T = T,
                     .K = K,
                     .D = 5,
                     .clip = 3,
                     .visibility = visibility,
                     .dropout = dropout});
  };
  for (int64_t groups : {1, 2, 8})  // of as many heads as make a task of each, too
    for (bool past_only : {true, false})
      forms.push_back({.name = text(groups, " groups", past_only ? ", causal" : ", both ways"),
                       .terms = "uvrpsabgzf",
                       .H = 8,
                       .T = 30,
                       .K = 60,
                       .D = 5,
                       .clip = 3,
                       .groups = groups,
                       .value_size = past_only ? 5 : 9,
                       .visibility = {past_only, {}, {}, {}}});
  form("window", 150, 190, {{true, 33}}, 0);
  form("narrow window", 200, 200, {{true, 2}}, 0);
  form("window both ways", 150, 190, {{false, 40}}, 0);
  form("window to both sides", 150, 190, {{false, Window{70, 9}}}, 0);
  form("window over several tiles", 100, 1100, {{false, Window{20, 3}}}, 0.1);
  form("chunks", 200, 230, {.sight = {.causal = false, .chunk = Chunk{32, 1}}}, 0.1);
  form("chunks of the past", 200, 900, {.sight = {.causal = true, .chunk = Chunk{50, 2}}}, 0);
  form("spans", 100, 700, {.sight = {.causal = false}, .spans = some_spans(2, 100, 700)}, 0.1);
  form("documents", 250, 260, {.sight = {.causal = true}, .spans = documents(250, 260, 60)}, 0);
  form("documents of several tiles, both ways", 210, 900,
       {.sight = {.causal = false}, .spans = documents(210, 900, 550)}, 0.1);
  form("first keys", 200, 900, {.sight = {.window = 30, .always = 4}}, 0.1);
  form("first keys of several tiles", 110, 1300,
       {.sight = {.causal = false, .window = 100, .always = 600}}, 0);
  form("first keys, kept exponentials", 200, 200, {.sight = {.window = 16, .always = 4}}, 0.1);
  form("first keys beside chunks, kept exponentials", 190, 240,
       {.sight = {.causal = false, .chunk = Chunk{20, 0}, .always = 9}}, 0);
  form("first keys, chunks, masks and spans", 120, 600,
       {.sight = {.causal = true, .chunk = Chunk{50, 0}, .always = 9},
        .padding = some({2, 600}),
        .hidden = some({120, 600}),
        .spans = some_spans(1, 120, 600)},
       0);
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

inline OpRow row(const AttentionForm& form, Op op) {
  return {form.name, form.shapes(),
          [=](const std::vector<Tensor>& in) { return op(form.attention(in)); },
          [=](const std::vector<Numbers>& in) {
            AttentionOracle oracle(form, in);
            oracle.forward();
            return oracle.y;
          }};
}

inline std::vector<Tensor> random_inputs(const AttentionForm& form, uint64_t seed = 1) {
  RandomValues random(seed);
  std::vector<Tensor> inputs;
  for (const Dims& shape : form.shapes()) inputs.push_back(random.tensor(shape).require_gradient());
  return inputs;
}

/// y, then the gradients of all inputs, to which each pass adds.
inline std::vector<Tensor> results(const AttentionForm& form, const std::vector<Tensor>& values,
                                   const Tensor& cotangent, Op op = relative_attention,
                                   int passes = 1) {
  std::vector<Tensor> inputs, all;
  for (const Tensor& value : values) inputs.push_back(value.detach().require_gradient());
  for (int pass = 0; pass < passes; ++pass) {
    Tape tape;
    all = {op(form.attention(inputs))};
    tape.backward(all[0], cotangent);
  }
  for (const Tensor& input : inputs) all.push_back(input.gradient());
  return all;
}

/// Returns what the oracle says of the same.
inline std::vector<Numbers> oracle_results(const AttentionForm& form,
                                           const std::vector<Tensor>& values,
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

inline Tensor random_cotangent(const AttentionForm& form) {
  return RandomValues(2).tensor({form.B, form.H, form.T, form.E()});
}

/// The formulas' results for these two, which are computed once: they take as long as all else.
inline const std::vector<Numbers>& expected_results(const AttentionForm& form) {
  static std::map<std::string, std::vector<Numbers>> known;
  auto [found, is_new] = known.try_emplace(form.name);
  if (is_new) found->second = oracle_results(form, random_inputs(form), random_cotangent(form));
  return found->second;
}

/// x with all numbers for which chosen(b, h, t) set to `value`.
template <class Chosen>
inline Tensor with_tokens(const Tensor& x, Chosen chosen, Scalar value) {
  Tensor result = Tensor::from(x.shape(), x.values());
  for_each_index(x.shape(), [&](const Dims& index) {
    if (chosen(index[0], index[2])) result.mutable_data()[position(result.layout(), index)] = value;
  });
  return result;
}

/// What hidden tokens may hold.
inline const std::vector<Scalar> extremes = {
    0, 1e4, -1e4, Scalar{1e30f}, Scalar{-1e30f}, infinity, -infinity, not_a_number};

inline void check_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  for (size_t n = 0; n < expected.size(); ++n) {
    CAPTURE(n);
    CHECK(same_bits(got[n], expected[n]));
  }
}

}  // namespace shiftgrad::test::attention_forms
