// Tensors, their views, and what is made of them.

#include <doctest/doctest.h>

#include "core/io/dtype.h"
#include "core/machine/parallel.h"
#include "ops/indexing.h"
#include "ops/shape.h"
#include "tests/laws/sizes/calls.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("sizes: of tensors and their views") {
  check_ends({
      {"zeros [n]", [](int64_t n) { Tensor::zeros({n}); }},
      {"zeros [n, n]",
       [](int64_t n) {
         Tensor::zeros({n, n});
       }},
      {"zeros [n, 0]",
       [](int64_t n) {
         Tensor::zeros({n, 0});
       }},
      {"zeros [n, n, 0]",
       [](int64_t n) {
         Tensor::zeros({n, n, 0});
       }},
      {"zeros [0, n, n]",
       [](int64_t n) {
         Tensor::zeros({0, n, n});
       }},
      {"full [2, n]",
       [](int64_t n) {
         Tensor::full({2, n}, 1);
       }},
      {"from [n]",
       [](int64_t n) {
         Tensor::from({n}, {1, 2});
       }},
      {"from [n, n]",
       [](int64_t n) {
         Tensor::from({n, n}, {1});
       }},
      {"randn",
       [](int64_t n) {
         Random random;
         randn({n, 2}, random);
       }},
      {"arange", [](int64_t n) { arange(static_cast<double>(n)); }},
      {"arange from", [](int64_t n) { arange(static_cast<double>(n), 3); }},
      {"arange by", [](int64_t n) { arange(0, 1e18, static_cast<double>(n)); }},
      {"size",
       [](int64_t n) {
         some({2, 3}).size(n);
       }},
      {"index",
       [](int64_t n) {
         some({2, 3})[n];
       }},
      {"reshape",
       [](int64_t n) {
         reshape(some({2, 3}), {n, 3});
       }},
      {"reshape of two",
       [](int64_t n) {
         reshape(some({2, 3}), {n, n, -1});
       }},
      {"reshape of nothing",
       [](int64_t n) {
         reshape(some({0, 3}), {0, n, n});
       }},
      {"permute",
       [](int64_t n) {
         permute(some({2, 3}), {n, 0});
       }},
      {"transpose",
       [](int64_t n) {
         transpose(some({2, 3}), n, 0);
       }},
      {"slice axis",
       [](int64_t n) {
         slice(some({2, 3}), n, 0, 1);
       }},
      {"slice begin",
       [](int64_t n) {
         slice(some({2, 3}), 1, n, 3);
       }},
      {"slice end",
       [](int64_t n) {
         slice(some({2, 3}), 1, 1, n);
       }},
      {"slice step",
       [](int64_t n) {
         slice(some({2, 3}), 1, 0, 3, n);
       }},
      {"select",
       [](int64_t n) {
         select(some({2, 3}), 1, n);
       }},
      {"flip",
       [](int64_t n) {
         flip(some({2, 3}), n);
       }},
      {"expand",
       [](int64_t n) {
         expand(some({1, 3}), {n, 3});
       }},
      {"expand values", [](int64_t n) { expand(some({1}), {n}).values(); }},
      {"expand contiguous", [](int64_t n) { contiguous(expand(some({1}), {n})); }},
      {"expand and add",
       [](int64_t n) {
         expand(some({1, 1}), {n, 2}) + some({2});
       }},
      {"unsqueeze",
       [](int64_t n) {
         unsqueeze(some({2, 3}), n);
       }},
      {"squeeze",
       [](int64_t n) {
         squeeze(some({2, 1}), n);
       }},
      {"split_heads",
       [](int64_t n) {
         split_heads(some({1, 2, 6}), n);
       }},
      {"dims insert",
       [](int64_t n) {
         Dims dims{1, 2};
         dims.insert(n, 3);
       }},
      {"dims erase",
       [](int64_t n) {
         Dims dims{1, 2};
         dims.erase(n);
       }},
      {"dims filled", [](int64_t n) { Dims::filled(as_int(n), 3); }},
      {"layout",
       [](int64_t n) {
         some({6}).view({{2, n}, {n, 1}, 0});
       }},
      {"layout strides",
       [](int64_t n) {
         some({6}).view({{2, 2}, {n, n}, 0});
       }},
      {"layout offset",
       [](int64_t n) {
         some({6}).view({{2}, {1}, n});
       }},
      {"rows begin",
       [](int64_t n) {
         rows(Tokens{{2, 2}, {1, 2, 3, 4}}, n, 2);
       }},
      {"rows end",
       [](int64_t n) {
         rows(Tokens{{2, 2}, {1, 2, 3, 4}}, 1, n);
       }},
      {"rows of a wrong shape",
       [](int64_t n) {
         rows(Tokens{{2, n}, {1, 2, 3, 4}}, 0, 1);
       }},
      {"below", [](int64_t n) { random_numbers().below(n); }},
      {"byte_count",
       [](int64_t n) {
         byte_count(DType::f64, Dims{n, n});
       }},
      {"CachedArray", [](int64_t n) { CachedArray<double> array(n); }},
      {"allocate",
       [](int64_t n) {
         auto size = static_cast<size_t>(n);
         release(allocate(size), size);
       }},
      {"divide_up", [](int64_t n) { divide_up(n, 3); }},
      {"ThreadLimit", [](int64_t n) { ThreadLimit limit{as_int(n)}; }},
      {"with_threads", [](int64_t n) { with_threads(as_int(n), [] {}); }},
  });
}
