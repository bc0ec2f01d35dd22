// Layers.

#include <doctest/doctest.h>

#include "nn/models/config.h"
#include "nn/parameter_budget.h"
#include "nn/positions.h"
#include "nn/sliding_cache.h"
#include "ops/shape.h"
#include "tests/laws/sizes/calls.h"
#include "tests/support/small_mixers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Calls `use` with every mixer's config, of which the fields of this name are n.
void with_field(const std::string& name, int64_t n, auto use) {
  for (MixerConfig config : small_mixers(12)) {
    bool has = false;
    fields_of(config, [&]<class Value>(Value& value, const Field& field, const auto&...) {
      if (name != field.name) return;
      if constexpr (std::is_same_v<Value, int64_t> ||
                    std::is_same_v<Value, std::optional<int64_t>>) {
        value = n;
        has = true;
      }
    });
    if (has) use(config);
  }
}

void use_mixer(const MixerConfig& config, Width width) {
  Random random;
  if (!std::visit([](const auto& each) { return has_heads(each); }, config)) width.n_head.reset();
  auto layer = make_mixer(config, width, random);
  (*layer)(some({1, 4, 4}));
}

}  // namespace

TEST_CASE("sizes: of layers") {
  std::vector<Call> calls;
  for (std::string field : {"max_len", "window", "factor_rank", "max_positions", "max_seq",
                            "max_distance", "clamp_len", "d_head"})
    calls.push_back({"mixer " + field, [=](int64_t n) {
                       std::string last;
                       with_field(field, n, [&](const MixerConfig& config) {
                         try {
                           use_mixer(config, {4, 2});
                         } catch (const Error& error) {
                           last = error.what();
                         }
                       });
                       if (!last.empty()) throw Error(last);
                     }});
  for (const MixerConfig& config : small_mixers(12)) {
    calls.push_back({text("d_model of ", type_of(config)), [=](int64_t n) {
                       use_mixer(config, {n, 2});
                     }});
    calls.push_back({text("n_head of ", type_of(config)), [=](int64_t n) {
                       use_mixer(config, {4, n});
                     }});
    calls.push_back({text("limit of ", type_of(config)), [=](int64_t n) {
                       Random random;
                       Width width{4, 2};
                       if (!std::visit([](const auto& each) { return has_heads(each); }, config))
                         width.n_head.reset();
                       auto layer = make_mixer(config, width, random);
                       auto cache = layer->make_cache(n);
                       Context context;
                       (*layer)(some({1, 2, 4}), *cache, context);
                       (*layer)(some({1, 2, 4}), *cache, context);
                       cache->forget_newest(n);
                     }});
    calls.push_back({text("forget of ", type_of(config)), [=](int64_t n) {
                       Random random;
                       Width width{4, 2};
                       if (!std::visit([](const auto& each) { return has_heads(each); }, config))
                         width.n_head.reset();
                       auto layer = make_mixer(config, width, random);
                       auto cache = layer->make_cache();
                       Context context;
                       (*layer)(some({2, 2, 4}), *cache, context);
                       try {
                         cache->forget_newest(n);
                       } catch (const Error&) {
                       }
                       cache->reorder({n, n});
                     }});
  }
  auto random = [] {
    static Random random;
    return &random;
  };
  std::vector<Call> more = {
      {"Linear", [=](int64_t n) { Linear(n, n, true, *random()); }},
      {"LayerNorm", [](int64_t n) { LayerNorm norm(n); }},
      {"FeedForward", [=](int64_t n) { FeedForward(4, n, Activation::relu, 0, *random()); }},
      {"normal_parameter",
       [=](int64_t n) {
         normal_parameter({n, 2}, *random());
       }},
      {"ParameterBudget", [](int64_t n) { ParameterBudget(n, 2).add({n}); }},
      {"ParameterBudget tensors", [](int64_t n) { ParameterBudget(2, n).add({2}); }},
      {"SlidingCache",
       [](int64_t n) {
         SlidingCache cache(n);
         cache.append(some({1, 2, 2}));
         cache.append(some({1, 2, 2}));
         cache.forget_newest(n);
       }},
      {"SlidingCache of long",
       [](int64_t n) {
         SlidingCache cache(2);
         cache.append(expand(some({1, 1}), {1, n}));
       }},
      {"alibi farthest",
       [=](int64_t n) {
         Context context;
         MultiHeadAttention({.position = AttentionPosition::alibi}, {4, 2}, *random())
             .position_table(n, 0, context);
       }},
      {"alibi nearest",
       [=](int64_t n) {
         Context context;
         MultiHeadAttention({.position = AttentionPosition::alibi}, {4, 2}, *random())
             .position_table(3, n, context);
       }},
      {"rope",
       [=](int64_t n) {
         MultiHeadAttention layer({.position = AttentionPosition::rope}, {4, 2}, *random());
         layer.rotated({some({1, 2, 2, 2}), some({1, 2, 2, 2}), some({1, 2, 2, 2})}, n, 0);
       }},
      {"transformer_xl farthest",
       [=](int64_t n) {
         Context context;
         TransformerXLAttention({}, {4, 2}, *random()).position_table(n, 0, context);
       }},
      {"transformer_xl nearest",
       [=](int64_t n) {
         Context context;
         TransformerXLAttention({}, {4, 2}, *random()).position_table(3, n, context);
       }},
      {"aft band",
       [=](int64_t n) {
         Aft({.form = AftForm::local, .max_len = 4, .window = 2}, {4}, *random()).band(n, 1);
       }},
      {"aft band T", [=](int64_t n) { Aft({.form = AftForm::simple}, {4}, *random()).band(1, n); }},
      {"aft conv band",
       [=](int64_t n) {
         Aft({.form = AftForm::conv, .window = 2}, {4, 2}, *random()).band(n, n);
       }},
      {"embedding first",
       [=](int64_t n) {
         Context context;
         TokenEmbedding("model",
                        {.vocab_size = 3, .d_model = 4, .position = TokenPosition::sinusoid},
                        *random())(Tokens{{1, 2}, {0, 1}}, n, context);
       }},
      {"learned embedding first",
       [=](int64_t n) {
         Context context;
         TokenEmbedding(
             "model",
             {.vocab_size = 3, .d_model = 4, .position = TokenPosition::learned, .max_len = 3},
             *random())(Tokens{{1, 2}, {0, 1}}, n, context);
       }},
      {"embedding vocab_size",
       [=](int64_t n) { TokenEmbedding("model", {.vocab_size = n, .d_model = 4}, *random()); }},
      {"embedding d_model",
       [=](int64_t n) {
         TokenEmbedding("model",
                        {.vocab_size = 0, .d_model = n, .position = TokenPosition::sinusoid},
                        *random());
       }},
      {"first_member",
       [=](int64_t n) {
         Context context{.training = true};
         context.first_member = n;
         MultiHeadAttention({.attention_dropout = 0.5}, {4, 2}, *random())(some({1, 2, 4}),
                                                                           context);
       }},
  };
  calls.insert(calls.end(), more.begin(), more.end());
  check_ends(calls);
}
