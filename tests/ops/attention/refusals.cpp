#include "ops/attention.h"
#include "tests/support/attention_forms.h"
#include "tests/support/refusal.h"

namespace shiftgrad::test::attention_forms {

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

TEST_CASE("attention refuses shapes and masks that do not fit, by name") {
  AttentionForm form{.name = "", .terms = "uvrpsabgzf", .visibility = causal};
  CHECK(refused(form,
                [](auto& a) {
                  a.key = Tensor::zeros({2, 2, 3, 4});
                }) ==
        "relative_attention: query [2, 2, 3, 2], key [2, 2, 3, 4], value [2, 2, 3, 2]: expected "
        "[B, H, T, D], [B, G, K, D] and [B, G, K, E], where G divides H");
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
      {Dims{2, 3, 3, 2}, right, right},  // heads
      {Dims{2, 1, 3, 2}, right, right},     {right, Dims{2, 0, 3, 2}, Dims{2, 0, 3, 2}},
      {right, Dims{2, 1, 3, 2}, right},     {Dims{1, 2, 3, 2}, right, right},  // members
      {Dims{2, 2, 3, 4}, right, right},                                        // widths
      {right, Dims{2, 2, 4, 2}, right},                                        // keys and values
      {Dims{2, 3, 2}, right, right},                                           // ranks
      {right, Dims{2, 3, 2}, Dims{2, 3, 2}}};
  for (const std::array<Dims, 3>& shapes : wrong) {
    auto of_shapes = [&](auto& a) {
      a.query = Tensor::zeros(shapes[0]);
      a.key = Tensor::zeros(shapes[1]);
      a.value = Tensor::zeros(shapes[2]);
    };
    CHECK(refused({.name = ""}, of_shapes) ==
          text("relative_attention: query ", shapes[0], ", key ", shapes[1], ", value ", shapes[2],
               ": expected [B, H, T, D], [B, G, K, D] and [B, G, K, E], where G divides H"));
  }
}

TEST_CASE("attention refuses tables of other heads, widths and lengths, each by its name") {
  using Field = Tensor RelativeAttention::*;
  const AttentionForm both_ways{.name = "", .terms = "uvrpsabgzf"};
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
    CHECK(with(&R::position_scores, shape) == say("position_scores", shape, ", expected [n, 2]"));
  CHECK(with(&R::position_scores, {4, 2}) ==
        say("position_scores", {4, 2}, " for 3 queries of 3 keys, expected at least 5 rows"));
  for (const Dims& shape : {Dims{2, 3, 3}, {1, 2, 3}, {2, 2, 2}, {2, 3}, {2, 2, 3, 1}})
    CHECK(with(&R::key_scores, shape) == say("key_scores", shape, ", expected [2, 2 or 1, 3]"));
  for (const Dims& shape : {Dims{1}, {3}, {2, 1}, {}})
    CHECK(with(&R::sink, shape) == say("sink", shape, ", expected [2]"));
  for (const Dims& shape : {Dims{1, 2}, {2}, {2, 1}, {2, 2, 1}}) {
    CHECK(with(&R::content_bias, shape) == say("content_bias", shape, ", expected [2, 2]"));
    CHECK(with(&R::position_bias, shape) == say("position_bias", shape, ", expected [2, 2]"));
  }
}

}  // namespace shiftgrad::test::attention_forms
