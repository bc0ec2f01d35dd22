#include "ops/clipped.h"

#include "tests/support/op_row.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// The bucket of query i of T and key j of K.
int64_t bucket(int64_t i, int64_t j, int64_t T, int64_t K, int64_t m) {
  return std::clamp(j - (K - T + i), -m, m) + m;
}

Numbers gathered(const Numbers& x, int64_t K) {
  Dims shape = x.shape;
  shape[-1] = K;
  Numbers y(shape);
  for_each_index(shape, [&](const Dims& index) {
    Dims from = index;
    from[-1] = bucket(index[-2], index[-1], shape[-2], K, x.shape[-1] / 2);
    y.at(index) = x.at(from);
  });
  return y;
}

Numbers bucketed(const Numbers& x, int64_t m) {
  Dims shape = x.shape;
  shape[-1] = 2 * m + 1;
  Numbers y(shape);
  for_each_index(x.shape, [&](const Dims& index) {
    Dims to = index;
    to[-1] = bucket(index[-2], index[-1], shape[-2], x.shape[-1], m);
    y.at(to) += x.at(index);
  });
  return y;
}

std::vector<OpRow> clipped_rows() {
  std::vector<OpRow> rows;
  for (const Dims& queries : {Dims{3}, Dims{2, 3}, Dims{2, 2, 3}, Dims{1}, Dims{0, 3}})
    for (int64_t K : {1, 2, 3, 6})  // fewer keys than queries, as many, and more
      for (int64_t m : {0, 1, 7}) {
        Dims by_bucket = queries, by_key = queries;
        by_bucket.push_back(2 * m + 1);
        by_key.push_back(K);
        rows.push_back({text("gather_by_distance, ", K, " keys"),
                        {by_bucket},
                        [=](const std::vector<Tensor>& in) { return gather_by_distance(in[0], K); },
                        [=](const std::vector<Numbers>& in) { return gathered(in[0], K); }});
        rows.push_back({text("bucket_by_distance, clipped at ", m),
                        {by_key},
                        [=](const std::vector<Tensor>& in) { return bucket_by_distance(in[0], m); },
                        [=](const std::vector<Numbers>& in) { return bucketed(in[0], m); }});
      }
  return rows;
}

}  // namespace

TEST_CASE("scores by clipped distance: values and gradients") { check_rows(clipped_rows()); }

TEST_CASE("scores by clipped distance refuse what has no middle, and negative numbers") {
  auto gather = [](const Dims& shape, int64_t K) {
    return refusal([&] { gather_by_distance(Tensor::zeros(shape), K); });
  };
  auto buckets = [](const Dims& shape, int64_t m) {
    return refusal([&] { bucket_by_distance(Tensor::zeros(shape), m); });
  };
  CHECK(gather({3, 4}, 3) == "gather_by_distance: [3, 4], expected […, T, 2m+1]");
  CHECK(gather({3}, 3) == "gather_by_distance: [3], expected […, T, 2m+1]");
  CHECK(gather({3, 3}, -1) == "gather_by_distance: -1 keys, expected at least 0");
  CHECK(buckets({3, 4}, -1) == "bucket_by_distance: m -1, expected at least 0");
  CHECK(buckets({4}, 1) == "bucket_by_distance: [4], expected […, T, K]");
}
