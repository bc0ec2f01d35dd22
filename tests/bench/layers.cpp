// One mixer, d256 H4, forward and backward: with the gradients of its input and its weights.

#include "core/tape.h"
#include "nn/models/mixers.h"
#include "tests/bench/measure.h"

namespace shiftgrad::bench {

namespace {

constexpr int64_t C = 256, H = 4;

struct Size {
  int64_t T, B;
};

struct Row {
  std::string name;
  MixerConfig (*config)(int64_t T);
  /// Returns the operations of one forward pass.
  double (*flops)(const Size& size);
};

double projections(const Size& s, int64_t columns) {
  return product_flops(s.B * s.T, columns * C, C);
}
/// Four projections and `products` of queries with the keys that they see.
double attention(const Size& s, int products) {
  return projections(s, 4) + products * causal_flops(s.B, s.T, 0, C);
}
/// A projection of each token and window - 1 products of hidden states.
double local_rnn(const Size& s, int64_t gates) { return 7 * projections(s, gates); }

MixerConfig local_rnn_of(RecurrentCell cell) { return LocalRnnConfig{.window = 7, .cell = cell}; }

const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {"attention", [](int64_t) -> MixerConfig { return MultiHeadAttentionConfig{}; },
       [](const Size& s) { return attention(s, 2); }},
      {"labml",
       [](int64_t T) -> MixerConfig {
         return RelativeMultiHeadAttentionConfig{.max_positions = T};
       },
       [](const Size& s) { return attention(s, 3); }},
      {"music",
       [](int64_t T) -> MixerConfig { return RelativeGlobalAttentionConfig{.max_seq = T}; },
       [](const Size& s) { return attention(s, 3); }},
      {"shaw k16", [](int64_t) -> MixerConfig { return ShawAttentionConfig{.max_distance = 16}; },
       [](const Size& s) { return attention(s, 2); }},
      {"aft full",
       [](int64_t T) -> MixerConfig { return AftConfig{.form = AftForm::full, .max_len = T}; },
       [](const Size& s) { return attention(s, 2); }},
      {"aft full r64",
       [](int64_t T) -> MixerConfig {
         return AftConfig{.form = AftForm::full, .max_len = T, .factor_rank = 64};
       },
       [](const Size& s) { return attention(s, 2); }},
      {"aft simple", [](int64_t) -> MixerConfig { return AftConfig{.form = AftForm::simple}; },
       [](const Size& s) { return projections(s, 4); }},
      {"aft conv s11",
       [](int64_t) -> MixerConfig { return AftConfig{.form = AftForm::conv, .window = 11}; },
       [](const Size& s) { return projections(s, 3); }},
      {"aft local s32",
       [](int64_t T) -> MixerConfig {
         return AftConfig{.form = AftForm::local, .max_len = T, .window = 32};
       },
       [](const Size& s) { return projections(s, 4); }},
      {"aft local s32 r64",
       [](int64_t T) -> MixerConfig {
         return AftConfig{.form = AftForm::local, .max_len = T, .window = 32, .factor_rank = 64};
       },
       [](const Size& s) { return projections(s, 4); }},
      {"local_rnn s7 rnn", [](int64_t) { return local_rnn_of(RecurrentCell::rnn); },
       [](const Size& s) { return local_rnn(s, 1); }},
      {"local_rnn s7 gru", [](int64_t) { return local_rnn_of(RecurrentCell::gru); },
       [](const Size& s) { return local_rnn(s, 3); }},
      {"local_rnn s7 lstm", [](int64_t) { return local_rnn_of(RecurrentCell::lstm); },
       [](const Size& s) { return local_rnn(s, 4); }},
  };
  return list;
}

Tensor random_tensor(const Dims& shape, Random& random) {
  Tensor x = Tensor::empty(shape);
  for (int64_t n = 0; n < x.count(); ++n)
    x.mutable_data()[n] = static_cast<Scalar>(random.normal());
  return x;
}

Result run(const Row& row, const Size& size, int runs) {
  Random random{.seed = 1};
  MixerConfig config = row.config(size.T);
  std::unique_ptr<Layer> layer = make_mixer(config, width_for(config, C, H), random);
  std::vector<Parameter> weights = parameters(*layer);
  Dims shape{size.B, size.T, C};
  Tensor x = random_tensor(shape, random).require_gradient();
  Tensor cotangent = random_tensor(shape, random);
  Context context;
  Result result = timed(runs, [&] {
    x.zero_gradient();
    for (const Parameter& weight : weights) weight.value.zero_gradient();
    Tape tape;
    tape.backward(layer->forward(x, {}, context), cotangent);
  });
  result.flops = 3 * row.flops(size);
  result.tokens = static_cast<double>(size.B * size.T);
  return result;
}

}  // namespace

std::vector<Case> layer_cases() {
  std::vector<Case> list;
  for (const Row& row : rows())
    for (Size size : {Size{256, 8}, Size{1024, 2}})
      list.push_back({row.name + " T" + std::to_string(size.T) + " B" + std::to_string(size.B),
                      [&row, size](int runs) { return run(row, size, runs); }});
  return list;
}

}  // namespace shiftgrad::bench
