// Every op says which of its arguments is undefined.

#include <functional>
#include <vector>

#include "core/accumulate.h"
#include "ops/aft.h"
#include "ops/attention.h"
#include "ops/clipped.h"
#include "ops/concat.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/elementwise_loss.h"
#include "ops/embedding.h"
#include "ops/indexing.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/shift.h"
#include "ops/softmax.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

struct Row {
  const char* expected;
  std::function<void()> call;
};

const Tensor none;
const Tensor x = Tensor::full({2, 3, 4}, 1), vector = Tensor::full({4}, 1);
const Tensor heads = Tensor::full({2, 3, 4, 5}, 1), matrix = Tensor::full({3, 4}, 1);
const Tokens one_token{{1, 1}, {0}};

/// Calls f with x and with nothing for each of its two arguments in turn.
std::vector<Row> rows_of_two(const char* left, const char* right,
                             std::function<void(const Tensor&, const Tensor&)> f) {
  return {{left, [=] { f(none, matrix); }}, {right, [=] { f(matrix, none); }}};
}

std::vector<Row> elementwise_rows() {
  std::vector<Row> rows = {
      {"scale: x", [] { scale(none, 2); }},
      {"add_scalar: x", [] { add_scalar(none, 2); }},
      {"negate: x", [] { negate(none); }},
      {"exp: x", [] { exp(none); }},
      {"log: x", [] { log(none); }},
      {"sqrt: x", [] { sqrt(none); }},
      {"square: x", [] { square(none); }},
      {"tanh: x", [] { tanh(none); }},
      {"sigmoid: x", [] { sigmoid(none); }},
      {"relu: x", [] { relu(none); }},
      {"gelu: x", [] { gelu(none); }},
      {"gelu_tanh: x", [] { gelu_tanh(none); }},
      {"silu: x", [] { silu(none); }},
      {"softplus: x", [] { softplus(none); }},
      {"log_sigmoid: x", [] { log_sigmoid(none); }},
      {"abs: x", [] { abs(none); }},
      {"sin: x", [] { sin(none); }},
      {"cos: x", [] { cos(none); }},
      {"pow: x", [] { pow(none, 2); }},
      {"clamp: x", [] { clamp(none, 0, 1); }},
      {"dropout: x", [] { dropout(none, {}); }},
      {"sum: x", [] { sum(none); }},
      {"sum: x", [] { sum(none, {0}); }},
      {"mean: x", [] { mean(none); }},
      {"mean: x", [] { mean(none, {0}); }},
      {"maximum: x", [] { maximum(none, 0); }},
      {"cumsum: x", [] { cumsum(none, 0); }},
      {"softmax: x", [] { softmax(none); }},
      {"log_softmax: x", [] { log_softmax(none); }},
      {"gather: x", [] { gather(none, 0, one_token); }},
      {"argmax: x", [] { argmax(none, 0); }},
      {"topk: x", [] { topk(none, 1); }},
      {"rms_norm: x", [] { rms_norm(none); }},
  };
  auto add_both = [&](const char* left, const char* right, auto f) {
    for (Row& row : rows_of_two(left, right, f)) rows.push_back(row);
  };
  add_both("add: the left operand", "add: the right operand", add);
  add_both("subtract: the left operand", "subtract: the right operand", subtract);
  add_both("multiply: the left operand", "multiply: the right operand", multiply);
  add_both("divide: the left operand", "divide: the right operand", divide);
  add_both("matmul: the left operand", "matmul: the right operand", matmul);
  add_both("linear: x", "linear: weight", [](const Tensor& a, const Tensor& b) { linear(a, b); });
  add_both("matmul_left_padded: a", "matmul_left_padded: b", matmul_left_padded);
  add_both("where: a", "where: b", [](const Tensor& a, const Tensor& b) {
    where({{}, {1}}, a, b);
  });
  add_both("mse_loss: x", "mse_loss: target",
           [](const Tensor& a, const Tensor& b) { mse_loss(a, b); });
  add_both("l1_loss: x", "l1_loss: target",
           [](const Tensor& a, const Tensor& b) { l1_loss(a, b); });
  add_both("smooth_l1_loss: x", "smooth_l1_loss: target",
           [](const Tensor& a, const Tensor& b) { smooth_l1_loss(a, b); });
  add_both("huber_loss: x", "huber_loss: target",
           [](const Tensor& a, const Tensor& b) { huber_loss(a, b); });
  add_both("binary_cross_entropy: x", "binary_cross_entropy: target",
           [](const Tensor& a, const Tensor& b) { binary_cross_entropy(a, b); });
  add_both("binary_cross_entropy_with_logits: x", "binary_cross_entropy_with_logits: target",
           [](const Tensor& a, const Tensor& b) { binary_cross_entropy_with_logits(a, b); });
  add_both("add_dropped: residual", "add_dropped: x",
           [](const Tensor& a, const Tensor& b) { add_dropped(a, b, {}); });
  return rows;
}

std::vector<Row> shape_rows() {
  return {
      {"reshape: x", [] { reshape(none, {1}); }},
      {"permute: x", [] { permute(none, {}); }},
      {"transpose: x", [] { transpose(none); }},
      {"slice: x", [] { slice(none, 0, 0, 1); }},
      {"select: x", [] { select(none, 0, 0); }},
      {"flip: x", [] { flip(none, 0); }},
      {"expand: x", [] { expand(none, {2}); }},
      {"unsqueeze: x", [] { unsqueeze(none, 0); }},
      {"squeeze: x", [] { squeeze(none, 0); }},
      {"split: x", [] { split(none, 1); }},
      {"stack: a part", [] { stack({none}); }},
      {"contiguous: x", [] { contiguous(none); }},
      {"split_heads: x", [] { split_heads(none, 2); }},
      {"merge_heads: x", [] { merge_heads(none); }},
      {"rel_shift: x", [] { pad_left(none); }},
      {"rel_shift: x", [] { rel_shift(none); }},
      {"rel_shift_view: padded", [] { rel_shift_view(none); }},
      {"shift_right: x", [] { pad_right(none); }},
      {"shift_right: x", [] { shift_right(none); }},
      {"relative_product: q", [] { relative_product(none, x, 3); }},
      {"relative_product: rows", [] { relative_product(heads, none, 3); }},
      {"relative_bias: rows", [] { relative_bias(none, 2, 3); }},
      {"gather_by_distance: x", [] { gather_by_distance(none, 3); }},
      {"bucket_by_distance: x", [] { bucket_by_distance(none, 3); }},
      {"shifted_rows: x", [] { shifted_rows(none, 1, 0, 1); }},
      {"banded_product: a", [] { banded_product(none, x, 1, 0); }},
      {"banded_product: b", [] { banded_product(x, none, 1, 0); }},
      {"widened: the band", [] { widened({}, 3); }},
  };
}

std::vector<Row> layer_rows() {
  return {
      {"layer_norm: x", [] { layer_norm(none, vector, vector); }},
      {"layer_norm: weight", [] { layer_norm(x, none, vector); }},
      {"layer_norm: bias", [] { layer_norm(x, vector, none); }},
      {"deviation_norm: x", [] { deviation_norm(none, vector, vector, 1e-5, false); }},
      {"deviation_norm: weight", [] { deviation_norm(x, none, vector, 1e-5, false); }},
      {"deviation_norm: bias", [] { deviation_norm(x, vector, none, 1e-5, false); }},
      {"embedding: weight", [] { embedding(none, one_token); }},
      {"cross_entropy: logits", [] { cross_entropy(none, one_token); }},
      {"token_losses: logits", [] { token_losses(none, one_token); }},
      {"masked_softmax: scores", [] { masked_softmax(none, {}, 1); }},
      {"relative_attention: query",
       [] {
         relative_attention({{}, heads, heads});
       }},
      {"relative_attention: key",
       [] {
         relative_attention({heads, {}, heads});
       }},
      {"relative_attention: value",
       [] {
         relative_attention({heads, heads, {}});
       }},
      {"relative_attention: query",
       [] {
         composed_attention({{}, heads, heads}, {});
       }},
      {"aft: key", [] { aft_mix(none, x, {x}, {}); }},
      {"aft: value", [] { aft_mix(x, none, {x}, {}); }},
      {"aft: the band", [] { aft_mix(x, x, {}, {}); }},
      {"recurrent_step: projected", [] { recurrent_step(RecurrentCell::gru, none, x, none); }},
      {"recurrent_windows: projected",
       [] { recurrent_windows(RecurrentCell::rnn, none, matrix, none, 2); }},
      {"recurrent_windows: weight",
       [] { recurrent_windows(RecurrentCell::rnn, x, none, none, 2); }},
  };
}

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    CHECK(refusal(row.call) == std::string(row.expected) + " is undefined");
}

}  // namespace

TEST_CASE("elementwise ops, sums and products") { check(elementwise_rows()); }

TEST_CASE("ops on shapes") { check(shape_rows()); }

TEST_CASE("ops of layers") { check(layer_rows()); }
