// The terms of each variant's score: an editor sees them, they are all of the score, and leaving
// one out is what a parameter of 0 does.

#include <doctest/doctest.h>

#include <set>

#include "nn/models/mixers.h"
#include "ops/arithmetic.h"
#include "tests/support/layer_rows.h"
#include "tests/support/mismatch.h"
#include "tests/support/named_parameters.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

constexpr int64_t B = 2, T = 5;

/// The terms that are gone when a parameter is 0.
struct Gone {
  std::string parameter;
  std::set<std::string> terms;
};

void leave_out(std::vector<ScoreTerm>& terms, const std::set<std::string>& names) {
  std::erase_if(terms, [&](const ScoreTerm& term) { return names.contains(term.name); });
}

template <class Config>
void check(const Config& config, const std::set<std::string>& names, const std::vector<Gone>& all) {
  for (const Gone& gone : all) {
    CAPTURE(gone.parameter);
    RandomValues random(21);
    typename Config::Layer layer = random_layer(config, random);
    Tensor x = random.tensor({B, T, config.d_model});
    std::set<std::string> seen;
    auto edited = [&](const std::set<std::string>& without) {
      Context context;
      context.term_editor = [&](std::vector<ScoreTerm>& terms) {
        for (const ScoreTerm& term : terms) CHECK(seen.insert(term.name).second);
        leave_out(terms, without);
      };
      return Values(layer.forward(x, {}, context));
    };
    Values all_terms = edited({});
    CHECK(seen == names);
    Context plain;
    CHECK(relative_error(layer.forward(x, {}, plain), all_terms) <= exactness);

    seen.clear();
    Values without = edited(gone.terms);
    CHECK(relative_error(all_terms.tensor(), without) > 1e-3);
    assign(layer, gone.parameter, 0);
    CHECK(relative_error(layer.forward(x, {}, plain), without) <= exactness);
  }
}

constexpr const char *content = "content_content", *by_distance = "content_position";

}  // namespace

TEST_CASE("a score without a term is that of a layer whose parameter is 0") {
  check(Sized{TransformerXLAttentionConfig{}, {6, 2}},
        {content, by_distance, "content_bias", "position_bias"},
        {{"content_bias", {"content_bias"}},
         {"position_bias", {"position_bias"}},
         {"position.weight", {by_distance, "position_bias"}}});
  check(Sized{TransformerXLAttentionConfig{.positions = DistancePositions::learned,
                                           .max_positions = T},
              {6, 2}},
        {content, by_distance, "content_bias", "position_scores"},
        {{"position_scalar_bias", {"position_scores"}}, {"position_embeddings", {by_distance}}});
  check(Sized{RelativeMultiHeadAttentionConfig{.max_positions = T}, {6, 2}},
        {content, by_distance, "content_bias", "position_scores"},
        {{"key_pos_bias", {"position_scores"}},
         {"key_pos_embeddings", {by_distance}},
         {"query_pos_bias", {"content_bias"}}});
  check(Sized{RelativeGlobalAttentionConfig{.max_seq = T}, {6, 2}},
        {content, by_distance, "position_scores"},
        {{"past_bias", {"position_scores"}}, {"past_embeddings", {by_distance}}});
  check(Sized{ShawAttentionConfig{.max_distance = 2}, {6, 2}}, {content, by_distance},
        {{"key_distance_embeddings", {by_distance}}});
  check(Sized{AftConfig{.max_len = T}, {6}}, {"content", "position_bias"},
        {{"position_bias", {"position_bias"}}});
}

TEST_CASE("without any term a query attends to all keys alike") {
  RandomValues random(22);
  auto layer = random_layer(Sized{TransformerXLAttentionConfig{}, {6, 2}}, random);
  Values weights;
  Context context;
  context.term_editor = [](std::vector<ScoreTerm>& terms) { terms.clear(); };
  context.recorder = [&](const Tensor& p) { weights = Values(p); };
  layer.forward(random.tensor({B, T, 6}), {}, context);
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < T; ++j)
      CHECK(weights(0, 0, i, j) == doctest::Approx(j <= i ? 1.0 / static_cast<double>(i + 1) : 0));
}
