#include "examples/apps/char_lm/distance_tables.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "nn/models/mixers.h"
#include "ops/shape.h"
#include "tests/support/random_values.h"
#include "tests/support/values.h"

using namespace shiftgrad;
using namespace shiftgrad::test;
using char_lm::distance_tables;
using char_lm::DistanceTable;

namespace {

constexpr int64_t T = 6, C = 8, H = 2, D = C / H;

void fill(const Tensor& tensor, const std::function<Scalar()>& value) {
  for (int64_t n = 0; n < tensor.count(); ++n) tensor.mutable_data()[n] = value();
}

void clear(const Module& module) {
  for (const Parameter& parameter : parameters(module)) fill(parameter.value, [] { return 0; });
}

std::vector<double> known(const DistanceTable& table, int64_t head) {
  return table.heads[table.heads.size() == 1 ? 0 : head];
}

/// The value of a distance, 0 where the table has none.
double at(const DistanceTable& table, int64_t head, int64_t delta) {
  std::vector<double> values = known(table, head);
  int64_t n = delta - table.first;
  return 0 <= n && n < std::ssize(values) ? values[n] : 0;
}

const DistanceTable& named(const std::vector<DistanceTable>& tables, const std::string& title) {
  for (const DistanceTable& table : tables)
    if (table.title == title) return table;
  FAIL("no table " << title);
  return tables.front();
}

/// The weights of the layer over T random tokens: [1, H, T, T], of AFT [1, T, T, C].
Values recorded(const Layer& layer, RandomValues& random, Values* output = nullptr) {
  Context context;
  Values weights;
  context.recorder = [&](const Tensor& told) { weights = Values(told); };
  Tensor y = layer.forward(random.tensor({1, T, C}), Tensor(), context);
  if (output) *output = Values(y);
  return weights;
}

/// With no queries and no keys, only the bias of the distance decides.
void check_biases(const Attention& layer, const std::string& title) {
  CAPTURE(title);
  RandomValues random(3);
  for (const Parameter& parameter : parameters(layer))
    fill(parameter.value, [&] { return random(); });
  clear(layer.qkv);
  Values p = recorded(layer, random);
  std::vector<DistanceTable> tables = distance_tables(layer, C, T);
  const DistanceTable& bias = named(tables, "bias " + title + " / √D");
  REQUIRE(std::ssize(bias.heads) == H);
  for (int64_t h = 0; h < H; ++h)
    for (int64_t i = 0; i < T; ++i)
      for (int64_t j = 0; j <= i; ++j)
        CHECK(std::abs(std::log(p(0, h, i, j) / p(0, h, i, i)) - at(bias, h, i - j) +
                       at(bias, h, 0)) < near);
}

/// A table of vectors, D numbers each, of which a layer uses one for each head and distance.
struct VectorTable {
  std::string title;
  Tensor vectors;
  bool clipped = false;
};

/// The distance whose norm in the table is not 0, there being at most one for a head.
std::optional<int64_t> distance_of(const DistanceTable& table, int64_t head) {
  std::optional<int64_t> found;
  std::vector<double> norms = known(table, head);
  for (size_t n = 0; n < norms.size(); ++n) {
    if (norms[n] == 0) continue;
    CHECK_FALSE(found);
    found = table.first + static_cast<int64_t>(n);
  }
  return found;
}

/// With one vector that is not 0 and equal keys, the keys at its distance alone have weights that
/// differ from the others'.
void check_norms(const Attention& layer, const VectorTable& checked) {
  CAPTURE(checked.title);
  RandomValues random(5);
  clear(layer);
  Tensor queries = slice(layer.qkv.weight, 0, 0, C);
  for (int64_t n = 0; n < queries.count(); ++n) queries.mutable_data()[n] = random();
  for (int64_t entry = 0; entry < checked.vectors.count() / D; ++entry) {
    CAPTURE(entry);
    fill(checked.vectors, [] { return 0; });
    double squares = 0;
    for (int64_t d = 0; d < D; ++d) {
      Scalar value = checked.vectors.mutable_data()[entry * D + d] = random();
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    Values p = recorded(layer, random);
    std::vector<DistanceTable> tables = distance_tables(layer, C, T);
    const DistanceTable& norms = named(tables, checked.title);
    int64_t last = norms.first + std::ssize(norms.heads.front()) - 1;
    for (int64_t h = 0; h < H; ++h) {
      std::optional<int64_t> delta = distance_of(norms, h);
      if (delta) CHECK(at(norms, h, *delta) == doctest::Approx(std::sqrt(squares)));
      auto matches = [&](int64_t i, int64_t j) {
        return delta && (checked.clipped ? std::clamp(i - j, norms.first, last) : i - j) == *delta;
      };
      for (int64_t i = 0; i < T; ++i)
        for (int64_t j = 0; j < (layer.causal ? i + 1 : T); ++j) {
          double ratio = std::log(p(0, h, i, j) / p(0, h, i, 0));
          bool equal = matches(i, j) == matches(i, 0);
          CHECK((std::abs(ratio) < near) == equal);
        }
    }
  }
}

double sinusoid(int64_t position, int64_t channel) {
  double angle = static_cast<double>(position) *
                 std::pow(10000.0, -2.0 * static_cast<double>(channel % (C / 2)) / C);
  return channel < C / 2 ? std::sin(angle) : std::cos(angle);
}

/// The mean over all pairs of a table [R, R] that are δ apart.
double mean_of_diagonal(const Values& w, int64_t delta) {
  double sum = 0, count = 0;
  for (int64_t t = 0; t < w.size(0); ++t)
    for (int64_t s = 0; s < w.size(1); ++s)
      if (t - s == delta) {
        sum += w(t, s);
        ++count;
      }
  return sum / count;
}

}  // namespace

TEST_CASE("distance tables: biases are what the layer adds to its scores") {
  Random random;
  check_biases(TransformerXLAttention({}, {C, H}, random), "v·r");
  check_biases(TransformerXLAttention({.clamp_len = 3}, {C, H}, random), "v·r");
  check_biases(TransformerXLAttention({.positions = DistancePositions::learned, .max_positions = 9},
                                      {C, H}, random),
               "s");
  check_biases(RelativeMultiHeadAttention({.max_positions = 9}, {C, H}, random), "s");
  check_biases(RelativeGlobalAttention({.max_seq = 9}, {C, H}, random), "s");
}

TEST_CASE("distance tables: each norm stands at the distance for which the layer uses its vector") {
  Random random;
  TransformerXLAttention xl({.positions = DistancePositions::learned, .max_positions = 7}, {C, H},
                            random);
  check_norms(xl, {"norm of r", xl.position_embeddings});
  for (bool causal : {true, false}) {
    CAPTURE(causal);
    RelativeMultiHeadAttention labml({.max_positions = 7, .causal = causal}, {C, H}, random);
    check_norms(labml, {"norm of r", labml.key_pos_embeddings});
    ShawAttention shaw({.max_distance = 2, .causal = causal}, {C, H}, random);
    check_norms(shaw, {"norm of the keys' a", shaw.key_distance_embeddings, true});
  }
  for (bool causal : {false, true}) {
    CAPTURE(causal);
    RelativeGlobalAttention music({.max_seq = 7, .causal = causal}, {C, H}, random);
    check_norms(music, {"norm of r", music.past_embeddings});
  }
  RelativeGlobalAttention music({.max_seq = 7, .causal = false}, {C, H}, random);
  clear(music);
  // Row max_seq - 1 - |δ|, head by head; the row of distance 0 is never used.
  music.future_embeddings.mutable_data()[(7 + 4) * D] = 3;
  std::vector<DistanceTable> tables = distance_tables(music, C, 7);
  const DistanceTable& both_ways = named(tables, "norm of r");
  CHECK(both_ways.first == -6);
  CHECK(both_ways.heads[0] == std::vector<double>(13));
  CHECK(both_ways.heads[1] == std::vector<double>{0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("distance tables: the values' vectors of Shaw's attention") {
  Random start;
  ShawAttention layer({.max_distance = 2}, {C, H}, start);
  RandomValues random(7);
  for (int64_t row = 0; row < 5; ++row) {
    clear(layer);
    fill(layer.output.weight, [&] { return random(); });
    for (int64_t d = 0; d < D; ++d) layer.value_distance_embeddings.mutable_data()[row * D + d] = 2;
    Values y;
    recorded(layer, random, &y);
    std::vector<DistanceTable> tables = distance_tables(layer, C, T);
    const DistanceTable& norms = named(tables, "norm of the values' b");
    CHECK(norms.heads.size() == 1);
    std::optional<int64_t> delta = distance_of(norms, 0);
    CHECK(delta.has_value() == (row <= 2));
    if (delta) CHECK(at(norms, 0, *delta) == doctest::Approx(4));
    for (int64_t i = 0; i < T; ++i) CHECK((y(0, i, 0) != 0) == (delta && i >= *delta));
  }
}

TEST_CASE("distance tables: the norm of Transformer-XL's r is that of W_r R") {
  Random start;
  TransformerXLAttention layer({.clamp_len = 4}, {C, H}, start);
  RandomValues random(9);
  fill(layer.position.weight, [&] { return random(); });
  Values W(layer.position.weight);
  std::vector<DistanceTable> tables = distance_tables(layer, C, 9);
  const DistanceTable& norms = named(tables, "norm of r");
  CHECK(norms.first == 0);
  for (int64_t h = 0; h < H; ++h) {
    CHECK(norms.heads[h].size() == 9);
    for (int64_t delta = 0; delta < 9; ++delta) {
      double squares = 0;
      for (int64_t d = 0; d < D; ++d) {
        double r = 0;
        for (int64_t c = 0; c < C; ++c)
          r += W(h * D + d, c) * sinusoid(std::min<int64_t>(delta, 4), c);
        squares += r * r;
      }
      CHECK(at(norms, h, delta) == doctest::Approx(std::sqrt(squares)));
    }
  }
}

TEST_CASE(
    "distance tables: AFT's w is the mean of a diagonal, of one table or of a product of two") {
  RandomValues random(11);
  Random start;
  for (bool causal : {true, false})
    for (int64_t rank : {0, 3})
      for (AftForm form : {AftForm::full, AftForm::local}) {
        bool local = form == AftForm::local;
        CAPTURE(form);
        CAPTURE(causal);
        AftConfig config{.form = form, .max_len = 7, .causal = causal};
        config.factor_rank = rank;
        if (local) config.window = 3;
        Aft layer(config, {C}, start);
        for (const Parameter& parameter : parameters(layer))
          fill(parameter.value, [&] { return random(); });
        Values w;
        if (rank == 0) {
          w = Values(layer.position_bias);
        } else {
          Values query(layer.position_bias_query), key(layer.position_bias_key);
          w = Values({7, 7});
          for (int64_t t = 0; t < 7; ++t)
            for (int64_t s = 0; s < 7; ++s)
              for (int64_t r = 0; r < rank; ++r) w(t, s) += query(t, r) * key(s, r);
        }
        std::vector<DistanceTable> tables = distance_tables(layer, C, T);
        const DistanceTable& bias = named(tables, "bias w, mean over queries");
        int64_t far = local ? 2 : 6;
        CHECK(bias.first == (causal ? 0 : -far));
        REQUIRE(bias.heads.size() == 1);
        REQUIRE(std::ssize(bias.heads[0]) == far - bias.first + 1);
        for (int64_t delta = bias.first; delta <= far; ++delta)
          CHECK(at(bias, 0, delta) == doctest::Approx(mean_of_diagonal(w, delta)).epsilon(1e-5));
      }
}

TEST_CASE("distance tables: AFT-conv's normed kernel is in its weights") {
  RandomValues random(13);
  Random start;
  for (bool causal : {true, false}) {
    Aft layer({.form = AftForm::conv, .window = 3, .causal = causal}, {C, H}, start);
    for (const Parameter& parameter : parameters(layer))
      fill(parameter.value, [&] { return random(); });
    clear(layer.key);
    Values p = recorded(layer, random);
    std::vector<DistanceTable> tables = distance_tables(layer, C, T);
    const DistanceTable& bias = named(tables, "bias w, mean over queries");
    CHECK(bias.first == (causal ? 0 : -1));
    for (int64_t c = 0; c < C; ++c)
      for (int64_t i = 0; i < T; ++i)
        for (int64_t j = 0; j < (causal ? i + 1 : T); ++j)
          CHECK(std::abs(std::log(p(0, i, j, c) / p(0, i, i, c)) - at(bias, c / D, i - j) +
                         at(bias, c / D, 0)) < near);
  }
}

TEST_CASE("distance tables: none where nothing is learned about distances") {
  Random random;
  CHECK(distance_tables(MultiHeadAttention({.position = AttentionPosition::alibi}, {C, H}, random),
                        C, T)
            .empty());
  CHECK(distance_tables(Aft({.form = AftForm::simple}, {C}, random), C, T).empty());
  CHECK(distance_tables(LocalRnn({.window = 3, .cell = RecurrentCell::gru}, {C}, random), C, T)
            .empty());
  ShawAttention shaw({.max_distance = 2, .key_positions = false, .value_positions = false}, {C, H},
                     random);
  CHECK(distance_tables(shaw, C, T).empty());
  TransformerXLAttentionConfig minus_d{.position_bias = false};
  auto titles = [&](const TransformerXLAttentionConfig& config) {
    std::vector<std::string> all;
    TransformerXLAttention layer(config, {C, H}, random);
    for (const DistanceTable& table : distance_tables(layer, C, T)) all.push_back(table.title);
    return all;
  };
  CHECK(titles(minus_d) == std::vector<std::string>{"norm of r"});
  minus_d.positions = DistancePositions::learned;
  minus_d.max_positions = 4;
  CHECK(titles(minus_d) == std::vector<std::string>{"norm of r"});
}
