// Checks the tables of worked examples against the formulas, in plain loops over doubles.

#include "examples/apps/show_layer/worked_example.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "core/errors.h"
#include "nn/models/mixers.h"

using namespace shiftgrad;
using show_layer::Table;
using show_layer::WorkedExample;

namespace {

struct Lengths {
  int64_t T, M;
};
constexpr Lengths lengths[] = {{3, 2}, {1, 0}, {4, 0}, {2, 5}};

bool has(const WorkedExample& example, const std::string& name) {
  for (const Table& table : example.tables)
    if (table.name == name) return true;
  return false;
}

double at(const Table& table, int64_t row, int64_t column) {
  REQUIRE(row < table.rows);
  REQUIRE(column < table.columns);
  return table.values[static_cast<size_t>(row * table.columns + column)];
}

bool is_visible(const WorkedExample& example, int64_t i, int64_t j) {
  return at(example["visible"], i, j) != 0;
}

/// Checks p against the softmax of the scores over the visible keys.
void check_softmax(const WorkedExample& example, const Table& scores, const Table& p) {
  for (int64_t i = 0; i < p.rows; ++i) {
    double sum = 0, total = 0;
    for (int64_t j = 0; j < p.columns; ++j)
      if (is_visible(example, i, j)) sum += std::exp(at(scores, i, j));
    for (int64_t j = 0; j < p.columns; ++j) {
      double expected = is_visible(example, i, j) ? std::exp(at(scores, i, j)) / sum : 0;
      CHECK(at(p, i, j) == doctest::Approx(expected).epsilon(1e-5));
      total += at(p, i, j);
    }
    CHECK(total == doctest::Approx(1).epsilon(1e-5));
  }
}

void check_scores(const WorkedExample& example) {
  const Table& score = example["score"];
  double root = std::sqrt(static_cast<double>(example["q"].columns));
  for (int64_t i = 0; i < score.rows; ++i)
    for (int64_t j = 0; j < score.columns; ++j) {
      double sum = 0;
      for (const char* term : {"q·k", "q′·k′", "u·k", "q·r", "v·r", "s", "q·a"})
        if (has(example, term)) sum += at(example[term], i, j);
      CHECK(at(score, i, j) == doctest::Approx(sum / root).epsilon(1e-5));
    }
}

/// Checks that scores by distance arrive at the keys of these distances.
void check_shift(const WorkedExample& example, const std::string& by_distance,
                 const std::string& by_key) {
  const Table &from = example[by_distance], &to = example[by_key], &delta = example["δ"];
  for (int64_t i = 0; i < to.rows; ++i)
    for (int64_t j = 0; j < to.columns; ++j) {
      if (!is_visible(example, i, j)) continue;
      auto row = to.columns - 1 - static_cast<int64_t>(at(delta, i, j));
      CHECK(at(to, i, j) == at(from, from.rows == 1 ? 0 : i, row));
    }
}

/// Checks a table of dot products of the rows of two others.
void check_products(const Table& products, const Table& a, const Table& b) {
  for (int64_t i = 0; i < products.rows; ++i)
    for (int64_t j = 0; j < products.columns; ++j) {
      double sum = 0;
      for (int64_t d = 0; d < a.columns; ++d) sum += at(a, a.rows == 1 ? 0 : i, d) * at(b, j, d);
      CHECK(at(products, i, j) == doctest::Approx(sum).epsilon(1e-5));
    }
}

void check_terms(const WorkedExample& example) {
  bool turned = has(example, "q′");
  check_products(example[turned ? "q′·k′" : "q·k"], example[turned ? "q′" : "q"],
                 example[turned ? "k′" : "k"]);
  if (has(example, "u")) check_products(example["u·k"], example["u"], example["k"]);
  if (has(example, "r")) {
    check_products(example["q·r by distance"], example["q"], example["r"]);
    check_shift(example, "q·r by distance", "q·r");
  }
  if (has(example, "position_bias")) {
    check_products(example["v·r by distance"], example["position_bias"], example["r"]);
    check_shift(example, "v·r by distance", "v·r");
  }
  if (has(example, "s")) check_shift(example, "s by distance", "s");
}

void check_clipped_keys(const WorkedExample& example) {
  const Table& c = example["c"];
  int64_t m = example["a"].rows / 2;
  check_products(example["q·a by row"], example["q"], example["a"]);
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.columns; ++j) {
      auto delta = static_cast<int64_t>(at(example["δ"], i, j));
      int64_t row = std::max(-m, std::min(-delta, m)) + m;
      CHECK(at(c, i, j) == static_cast<double>(row));
      CHECK(at(example["q·a"], i, j) == at(example["q·a by row"], i, row));
    }
}

void check_output(const WorkedExample& example) {
  const Table &p = example["p"], &v = example["v"], &y = example["y"];
  for (int64_t i = 0; i < y.rows; ++i)
    for (int64_t d = 0; d < y.columns; ++d) {
      double sum = 0;
      for (int64_t j = 0; j < p.columns; ++j) sum += at(p, i, j) * at(v, j, d);
      for (int64_t c = 0; has(example, "b") && c < example["b"].rows; ++c)
        sum += at(example["p by row"], i, c) * at(example["b"], c, d);
      CHECK(at(y, i, d) == doctest::Approx(sum).epsilon(1e-5));
    }
}

void check_attention(const WorkedExample& example) {
  const Table& delta = example["δ"];
  for (int64_t i = 0; i < delta.rows; ++i)
    for (int64_t j = 0; j < delta.columns; ++j)
      CHECK(at(delta, i, j) == static_cast<double>(delta.columns - delta.rows + i - j));
  check_terms(example);
  check_scores(example);
  check_softmax(example, example["score"], example["p"]);
  if (has(example, "a")) check_clipped_keys(example);
  check_output(example);
}

void check_aft(const WorkedExample& example) {
  const Table &k = example["k"], &y = example["y"], &w = example["w"];
  for (int64_t c = 0; c < y.columns; ++c) {
    std::string channel = " of channel " + std::to_string(c);
    const Table &sum = example["k + w" + channel], &p = example["p" + channel];
    check_softmax(example, sum, p);
    for (int64_t i = 0; i < y.rows; ++i) {
      double mixed = 0;
      for (int64_t j = 0; j < p.columns; ++j) {
        CHECK(at(sum, i, j) == doctest::Approx(at(k, j, c) + at(w, i, j)).epsilon(1e-5));
        mixed += at(p, i, j) * at(example["v"], j, c);
      }
      CHECK(at(y, i, c) == doctest::Approx(at(example["σ(q)"], i, c) * mixed).epsilon(1e-5));
    }
  }
}

/// Checks each step of the plain cell, whose weight_hh moves the channels by one.
void check_recurrent(const WorkedExample& example) {
  const Table &p = example["W x + b"], &y = example["y"];
  auto h = [&](int64_t n) -> const Table& {
    return example["h after " + std::to_string(n) + " of 3"];
  };
  CHECK(h(3).values == y.values);
  if (example.formula.find("= rnn(") == std::string::npos) return;
  for (int64_t n = 1; n <= 3; ++n)
    for (int64_t i = 0; i < y.rows; ++i)
      for (int64_t c = 0; c < y.columns; ++c) {
        double before = n == 1 ? 0 : at(h(n - 1), i, (c + 1) % y.columns);
        double expected = std::tanh(at(p, i + n - 1, c) + before);
        CHECK(at(h(n), i, c) == doctest::Approx(expected).epsilon(1e-5));
      }
}

}  // namespace

TEST_CASE("worked examples follow the formulas") {
  for (const std::string& layer : show_layer::layers_to_show())
    for (const Lengths& length : lengths) {
      CAPTURE(layer);
      CAPTURE(length.T);
      CAPTURE(length.M);
      WorkedExample example = show_layer::worked_example(layer, length.T, length.M);
      CHECK(example["y"].rows == length.T);
      if (layer.starts_with("aft"))
        check_aft(example);
      else if (layer.starts_with("local_rnn"))
        check_recurrent(example);
      else
        check_attention(example);
    }
}

TEST_CASE("worked examples: all attention reads the same whole numbers, and no query is 0") {
  WorkedExample first = show_layer::worked_example("multi_head_attention", 5, 3);
  for (const std::string& layer : show_layer::layers_to_show()) {
    if (layer.starts_with("aft") || layer.starts_with("local_rnn")) continue;
    WorkedExample example = show_layer::worked_example(layer, 5, 3);
    for (const char* name : {"q", "k", "v"}) {
      CAPTURE(layer);
      CHECK(example[name].values == first[name].values);
    }
  }
  const Table& q = first["q"];
  for (int64_t i = 0; i < q.rows; ++i) {
    double size = 0;
    for (int64_t d = 0; d < q.columns; ++d) {
      CHECK(at(q, i, d) == std::round(at(q, i, d)));
      size += std::abs(at(q, i, d));
    }
    CHECK(size > 0);
  }
}

TEST_CASE("a worked example of cross-attention knows its source and no distance") {
  WorkedExample example = show_layer::worked_example("cross_attention", 2, 4);
  const Table &q = example["q"], &k = example["k"], &v = example["v"], &p = example["p"];
  CHECK(q.rows == 2);
  CHECK(k.rows == 4);
  CHECK(!has(example, "δ"));
  for (int64_t i = 0; i < 2; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = 0; j < 4; ++j) {
      double score = 0;
      for (int64_t d = 0; d < 4; ++d) score += at(q, i, d) * at(k, j, d) / 2;
      CHECK(at(example["score"], i, j) == doctest::Approx(score));
      CHECK(is_visible(example, i, j));
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int64_t d = 0; d < 4; ++d) {
      double y = 0;
      for (int64_t j = 0; j < 4; ++j) y += weights[static_cast<size_t>(j)] / sum * at(v, j, d);
      CHECK(at(example["y"], i, d) == doctest::Approx(y).epsilon(1e-5));
    }
    CHECK(at(p, i, 0) == doctest::Approx(weights[0] / sum).epsilon(1e-5));
  }
  CHECK_THROWS_WITH(show_layer::worked_example("cross_attention", 2, 0),
                    "cross_attention: M 0, expected a source of at least 1");
}

TEST_CASE("worked examples refuse what they cannot show") {
  auto error = [](const std::string& layer, int64_t T, int64_t M) -> std::string {
    try {
      show_layer::worked_example(layer, T, M);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error("aft", 0, 2) == "T 0, expected 1 to 16");
  CHECK(error("aft", 17, 2) == "T 17, expected 1 to 16");
  CHECK(error("aft", 3, -1) == "M -1, expected 0 to 16");
  CHECK(error("lstm", 3, 2) == "lstm: no such layer; --help lists them");
  for (const KnownMixer& known : known_mixers())
    if (std::string name = known.name, type = type_of(known.config); name != type)
      CHECK(error(name, 3, 2) == name + ": no such layer, did you mean " + type + "?");
  std::string unknown = error("local_rnn:windw=2", 3, 2);
  CHECK(unknown.starts_with("local_rnn: unknown config key \"windw\", expected "));
  CHECK(unknown.ends_with(", did you mean window?"));
  CHECK(error("multi_head_attention:n_heads=2", 3, 2).ends_with(", did you mean n_head?"));
  CHECK(error("aft:form", 3, 2) == "aft:form: \"form\", expected KEY=VALUE");
  CHECK(error("multi_head_attention:d_model=65", 3, 2) ==
        "multi_head_attention:d_model=65: d_model 65, expected at most 64");
  CHECK(error("multi_head_attention:max_len=2", 3, 2).find("max_len") != std::string::npos);
  CHECK(error("aft:form=round", 3, 2).find("round") != std::string::npos);
  CHECK(error("aft:max_len=4", 3, 2) == "aft: 5 tokens are beyond max_len 4");
}

TEST_CASE("worked examples: the terms stand in the paper's order, (a) to (d)") {
  auto formula = [](const char* layer) { return show_layer::worked_example(layer, 2, 1).formula; };
  CHECK(formula("transformer_xl_attention").starts_with("score = (q·k + q·r + u·k + v·r) / √D,"));
  CHECK(
      formula("relative_multi_head_attention").starts_with("score = (q·k + q·r + u·k + s) / √D,"));
}
