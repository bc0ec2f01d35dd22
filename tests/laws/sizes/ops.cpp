// Ops, and what a query sees.

#include <doctest/doctest.h>

#include "nn/models/config.h"
#include "nn/positions.h"
#include "ops/aft.h"
#include "ops/clipped.h"
#include "ops/concat.h"
#include "ops/embedding.h"
#include "ops/indexing.h"
#include "ops/loss.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/shift.h"
#include "tests/laws/sizes/calls.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("sizes: of ops") {
  check_ends({
      {"concat",
       [](int64_t n) {
         concat({some({2, 3}), some({2, 3})}, n);
       }},
      {"concat of long",
       [](int64_t n) {
         Tensor x = expand(some({1}), {n});
         concat({x, x, x}, 0);
       }},
      {"stack",
       [](int64_t n) {
         stack({some({2}), some({2})}, n);
       }},
      {"stack of long",
       [](int64_t n) {
         Tensor x = expand(some({1}), {n});
         stack({x, x}, 0);
       }},
      {"split",
       [](int64_t n) {
         split(some({5, 2}), n);
       }},
      {"split axis",
       [](int64_t n) {
         split(some({5, 2}), 2, n);
       }},
      {"sum",
       [](int64_t n) {
         sum(some({2, 3}), {n});
       }},
      {"mean of none",
       [](int64_t n) {
         mean(Tensor::zeros({n, 0}), {1});
       }},
      {"maximum",
       [](int64_t n) {
         maximum(some({2, 3}), n);
       }},
      {"cumsum",
       [](int64_t n) {
         cumsum(some({2, 3}), n);
       }},
      {"cumsum of long", [](int64_t n) { cumsum(expand(some({1}), {n}), 0); }},
      {"argmax",
       [](int64_t n) {
         argmax(some({2, 3}), n);
       }},
      {"argmax of many",
       [](int64_t n) {
         argmax(expand(some({1, 3}), {n, 3}), 1);
       }},
      {"argmax of long", [](int64_t n) { argmax(expand(some({1}), {n}), 0); }},
      {"topk",
       [](int64_t n) {
         topk(some({2, 3}), n);
       }},
      {"topk of many",
       [](int64_t n) {
         topk(expand(some({1, 3}), {n, 3}), 2);
       }},
      {"topk axis",
       [](int64_t n) {
         topk(some({2, 3}), 1, n);
       }},
      {"gather",
       [](int64_t n) {
         gather(some({2, 3}), n, Tokens{{2, 1}, {0, 1}});
       }},
      {"gather shape",
       [](int64_t n) {
         gather(some({2, 3}), 1, Tokens{{2, n}, {0, 1}});
       }},
      {"gather of many",
       [](int64_t n) {
         gather(expand(some({1, 3}), {n, 3}), 1, Tokens{{n, 1}, {0}});
       }},
      {"where",
       [](int64_t n) {
         where(Mask{{n}, {1}}, some({1}), some({1}));
       }},
      {"embedding",
       [](int64_t n) {
         embedding(some({3, 2}), Tokens{{n}, {1}});
       }},
      {"embedding of wide",
       [](int64_t n) {
         embedding(expand(some({3, 1}), {3, n}), Tokens{{2}, {0, 1}});
       }},
      {"cross_entropy",
       [](int64_t n) {
         cross_entropy(some({2, 3}), Tokens{{n}, {1, 2}});
       }},
      {"cross_entropy of wide",
       [](int64_t n) {
         cross_entropy(expand(some({2, 1}), {2, n}), Tokens{{2}, {0, 0}});
       }},
      {"softmax",
       [](int64_t n) {
         softmax(Tensor::zeros({n, 0}));
       }},
      {"softmax of wide", [](int64_t n) { softmax(expand(some({1}), {n})); }},
      {"log_softmax",
       [](int64_t n) {
         log_softmax(some({2, 3}), n);
       }},
      {"layer_norm",
       [](int64_t n) {
         layer_norm(expand(some({1, 2}), {n, 2}), some({2}), some({2}));
       }},
      {"rms_norm", [](int64_t n) { rms_norm(expand(some({1}), {n})); }},
      {"matmul",
       [](int64_t n) {
         matmul(expand(some({1, 2}), {n, 2}), expand(some({2, 1}), {2, n}));
       }},
      {"matmul of none",
       [](int64_t n) {
         matmul(Tensor::zeros({n, 0}), Tensor::zeros({0, n}));
       }},
      {"linear",
       [](int64_t n) {
         linear(expand(some({1, 2}), {n, 2}), expand(some({1, 2}), {n, 2}));
       }},
      {"gather_by_distance",
       [](int64_t n) {
         gather_by_distance(some({2, 3}), n);
       }},
      {"bucket_by_distance",
       [](int64_t n) {
         bucket_by_distance(some({2, 3}), n);
       }},
      {"pad_left",
       [](int64_t n) {
         pad_left(expand(some({1, 1}), {1, n}));
       }},
      {"pad_right",
       [](int64_t n) {
         pad_right(expand(some({1, 1}), {1, n}));
       }},
      {"rel_shift",
       [](int64_t n) {
         rel_shift(expand(some({1, 1}), {n, 2}), true);
       }},
      {"rel_shift_view",
       [](int64_t n) {
         rel_shift_view(expand(some({1, 1}), {n, 2}));
       }},
      {"relative_product",
       [](int64_t n) {
         relative_product(some({1, 1, 2, 2}), some({3, 1, 2}), n);
       }},
      {"relative_key_product",
       [](int64_t n) {
         relative_key_product(some({1, 1, 2, 2}), some({3, 1, 2}), n);
       }},
      {"relative_bias T",
       [](int64_t n) {
         relative_bias(some({3, 1}), n, 2);
       }},
      {"relative_bias K",
       [](int64_t n) {
         relative_bias(some({3, 1}), 2, n);
       }},
      {"recurrent_windows",
       [](int64_t n) {
         recurrent_windows(RecurrentCell::rnn, some({1, 4, 2}), some({2, 2}), {}, n);
       }},
      {"composed_windows",
       [](int64_t n) {
         composed_windows(RecurrentCell::rnn, some({1, 4, 2}), some({2, 2}), {}, n);
       }},
      {"aft start",
       [](int64_t n) {
         aft_mix(some({1, 3, 2}), some({1, 3, 2}), {some({1, 3, 2}), n, 1}, {.sight = {}});
       }},
      {"aft step",
       [](int64_t n) {
         aft_mix(some({1, 3, 2}), some({1, 3, 2}), {some({1, 3, 2}), 0, n}, {.sight = {}});
       }},
      {"composed_aft start",
       [](int64_t n) {
         composed_aft(some({1, 3, 2}), some({1, 3, 2}), {some({1, 3, 2}), n, 1}, {.sight = {}});
       }},
      {"aft_no_sums", [](int64_t n) { aft_no_sums(n, 2); }},
      {"aft_no_sums n", [](int64_t n) { aft_no_sums(n, n); }},
      {"shifted_rows width",
       [](int64_t n) {
         shifted_rows(some({1, 2, 3}), n, 0, 0);
       }},
      {"shifted_rows start",
       [](int64_t n) {
         shifted_rows(some({1, 2, 3}), 3, n, 1);
       }},
      {"shifted_rows step",
       [](int64_t n) {
         shifted_rows(some({1, 2, 3}), 3, 0, n);
       }},
      {"banded_product width",
       [](int64_t n) {
         banded_product(some({2, 3}), some({4, 3}), n, 0);
       }},
      {"banded_product start",
       [](int64_t n) {
         banded_product(some({2, 3}), some({4, 3}), 3, n);
       }},
      {"widened",
       [](int64_t n) {
         widened({some({1, 2, 3}), n, n}, 3);
       }},
      {"widened to",
       [](int64_t n) {
         widened({some({1, 2, 3}), 0, 0}, n);
       }},
      {"dropout first_row",
       [](int64_t n) {
         dropout(some({2, 3}), {1, 2, 0.5, n});
       }},
      {"sinusoids first", [](int64_t n) { sinusoids("op", n, 2, 4); }},
      {"sinusoids count", [](int64_t n) { sinusoids("op", 0, n, 4); }},
      {"sinusoids width", [](int64_t n) { sinusoids("op", 0, 2, n); }},
      {"sinusoids width of none", [](int64_t n) { sinusoids("op", {}, n); }},
      {"rotate",
       [](int64_t n) {
         rotate(some({1, 1, 2, 4}), n);
       }},
      {"last_rows",
       [](int64_t n) {
         last_rows(some({2, 2}), n);
       }},
      {"alibi_slopes", [](int64_t n) { alibi_slopes(n); }},
      {"members_of",
       [](int64_t n) {
         members_of(some({2, 2}), {n});
       }},
      {"members_of tokens",
       [](int64_t n) {
         members_of(Tokens{{2}, {1, 2}}, {n});
       }},
  });
}

TEST_CASE("sizes: of what a query sees") {
  auto attention = [](const Visibility& visibility, DropoutPattern dropout = {}) {
    RelativeAttention terms{
        .query = some({1, 1, 3, 2}), .key = some({1, 1, 3, 2}), .value = some({1, 1, 3, 2})};
    terms.visibility = visibility;
    terms.dropout = dropout;
    relative_attention(terms);
  };
  auto all = [](const Sight& sight) {
    sight.farthest(unlimited);
    sight.farthest(3);
    sight.sees_ahead();
    sight.chunk_size();
    MultiHeadAttentionConfig config;
    config.sight = sight;
    Random random;
    MultiHeadAttention layer(config, {4, 2}, random);
    auto cache = layer.make_cache();
    Context context;
    layer(some({1, 2, 4}), *cache, context);
    layer(some({1, 2, 4}), *cache, context);
  };
  std::vector<Call> calls = {
      {"window", [&](int64_t n) { attention({.sight = {.window = Window(n)}}); }},
      {"window left", [&](int64_t n) { attention({.sight = {.window = Window(n, 1)}}); }},
      {"window right",
       [&](int64_t n) { attention({.sight = {.causal = false, .window = Window(1, n)}}); }},
      {"window both",
       [&](int64_t n) { attention({.sight = {.causal = false, .window = Window(n, n)}}); }},
      {"chunk size",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{n, 1}}});
       }},
      {"chunk left",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{1, n}}});
       }},
      {"chunk both",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{n, n}}});
       }},
      {"chunk at",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{n, n}}, .first_position = int64_t{1} << 39});
       }},
      {"first_position",
       [&](int64_t n) {
         attention({.sight = {.window = Window(2), .chunk = Chunk{2, 1}}, .first_position = n});
       }},
      {"dropout first_row",
       [&](int64_t n) {
         attention({}, {1, 2, 0.5, n});
       }},
      {"layer window", [&](int64_t n) { all({.window = Window(n)}); }},
      {"layer window left", [&](int64_t n) { all({.window = Window(n, 0)}); }},
      {"layer window right", [&](int64_t n) { all({.window = Window(2, n)}); }},
      {"layer chunk size",
       [&](int64_t n) {
         all({.chunk = Chunk{n, 1}});
       }},
      {"layer chunk left",
       [&](int64_t n) {
         all({.chunk = Chunk{1, n}});
       }},
      {"layer chunk two-way",
       [&](int64_t n) {
         all({.causal = false, .chunk = Chunk{n, n}});
       }},
  };
  check_ends(calls);
}
