#include "shiftgrad/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shiftgrad/core/checked.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/parallel.h"
#include "shiftgrad/core/machine/simd.h"
#include "shiftgrad/optim/peers/pieces.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr int64_t block_size = 1024;  // all that an update touches fits into L1

/// At most block_size elements of a parameter, with their gradient and moments.
struct Block {
  Scalar* weight;
  const Scalar* gradient;
  Scalar* first;
  Scalar* second;
  int64_t count;
};

/// Returns the block with gradient + decay · weight, which is made in `sum`, in place of the
/// gradient.
Block with_decay(const Block& block, double decay, std::array<Scalar, block_size>& sum) {
  if (decay == 0) return block;
  Block decayed = block;
  decayed.gradient = sum.data();
  for (int64_t i = 0; i < block.count; ++i)
    sum[i] = block.gradient[i] + static_cast<Scalar>(decay) * block.weight[i];
  return decayed;
}

void update(const SGD& rule, double rate, double decay, int64_t, const Block& plain) {
  std::array<Scalar, block_size> sum;
  Block block = with_decay(plain, decay, sum);
  const Scalar* direction = block.gradient;
  if (block.first) {
    simd::axpby(1, block.gradient, static_cast<Scalar>(rule.momentum), block.first, block.count);
    direction = block.first;
  }
  simd::axpby(static_cast<Scalar>(-rate), direction, 1, block.weight, block.count);
}

/// Makes Adam's update without decay, which AdamW shares.
template <class Rule>
void adam_update(const Rule& rule, double rate, int64_t updates, const Block& block) {
  auto keep_second = static_cast<Scalar>(rule.beta2);
  auto take_first = static_cast<Scalar>(1 - rule.beta1);
  auto take_second = static_cast<Scalar>(1 - rule.beta2);
  auto [w, g, m, v, count] = block;
  for (int64_t i = 0; i < count; ++i) {
    m[i] += take_first * (g[i] - m[i]);
    v[i] = keep_second * v[i] + take_second * g[i] * g[i];
  }
  std::array<Scalar, block_size> root;
  simd::map(simd::Unary::sqrt, v, root.data(), count);

  auto t = static_cast<double>(updates);
  auto step = static_cast<Scalar>(rate / (1 - std::pow(rule.beta1, t)));
  auto correction = static_cast<Scalar>(std::sqrt(1 - std::pow(rule.beta2, t)));
  auto eps = static_cast<Scalar>(rule.eps);
  for (int64_t i = 0; i < count; ++i) w[i] -= step * m[i] / (root[i] / correction + eps);
}

void update(const Adam& rule, double rate, double decay, int64_t updates, const Block& block) {
  std::array<Scalar, block_size> sum;
  adam_update(rule, rate, updates, with_decay(block, decay, sum));
}

void update(const AdamW& rule, double rate, double decay, int64_t updates, const Block& block) {
  simd::axpby(static_cast<Scalar>(1 - rate * decay), block.weight, 0, block.weight, block.count);
  adam_update(rule, rate, updates, block);
}

void check_fraction(const char* rule, const char* field, double value) {
  require(0 <= value && value < 1, rule, ": ", field, " ", value, ", expected 0 to below 1");
}

template <class Rule>
void check(const Rule& rule) {
  AtLeast at_least{rule.type};
  at_least(0, "weight_decay", rule.weight_decay);
  if constexpr (std::is_same_v<Rule, SGD>) {
    check_fraction(rule.type, "momentum", rule.momentum);
  } else {
    check_fraction(rule.type, "beta1", rule.beta1);
    check_fraction(rule.type, "beta2", rule.beta2);
    at_least(0, "eps", rule.eps);
  }
}

bool has_first(const UpdateRule& rule) {
  auto* sgd = std::get_if<SGD>(&rule);
  return !sgd || sgd->momentum > 0;
}

bool has_second(const UpdateRule& rule) { return !std::holds_alternative<SGD>(rule); }

}  // namespace

Optimizer::Optimizer(std::vector<Parameter> parameters, const UpdateRule& rule,
                     std::vector<double> learning_rate_factors)
    : parameters_(std::move(parameters)), rule_(rule), factors_(std::move(learning_rate_factors)) {
  std::visit([](const auto& checked) { check(checked); }, rule_);
  if (factors_.empty()) factors_.assign(parameters_.size(), 1);
  require(factors_.size() == parameters_.size(), "optimizer: ", factors_.size(),
          " factors of the learning rate, expected ", parameters_.size());
  for (const auto& [name, value, decay] : parameters_) {
    require(value.is_contiguous(), "optimizer: parameter ", name, " is not contiguous");
    Moments start;
    if (has_first(rule_)) start.first = Tensor::zeros(value.shape());
    if (has_second(rule_)) start.second = Tensor::zeros(value.shape());
    moments_.push_back(start);
  }
}

void Optimizer::step(double learning_rate) {
  for (size_t n = 0; n < parameters_.size(); ++n)
    if (parameters_[n].value.gradient().defined()) ++moments_[n].updates;
  std::vector<Piece> all = pieces(parameters_);
  parallel_for(static_cast<int64_t>(all.size()),
               [&](int64_t n) { update_piece(all[n], learning_rate); });
}

void Optimizer::update_piece(const Piece& piece, double learning_rate) {
  const Parameter& parameter = parameters_[piece.parameter];
  const Moments& moments = moments_[piece.parameter];
  auto written_from = [](const Tensor& tensor, int64_t begin) {
    return tensor.defined() ? tensor.mutable_data() + begin : nullptr;
  };
  Tensor gradient = parameter.value.gradient();
  for (int64_t begin = piece.begin; begin < piece.end; begin += block_size) {
    Block block{written_from(parameter.value, begin), gradient.data() + begin,
                written_from(moments.first, begin), written_from(moments.second, begin),
                std::min(block_size, piece.end - begin)};
    std::visit(
        [&](const auto& rule) {
          double decay = parameter.decay == Decay::yes ? rule.weight_decay : 0;
          update(rule, learning_rate * factors_[piece.parameter], decay, moments.updates, block);
        },
        rule_);
  }
}

void Optimizer::zero_gradients() const {
  for (const Parameter& parameter : parameters_) parameter.value.zero_gradient();
}

void Optimizer::set_moments(std::vector<Moments> moments) {
  require(moments.size() == moments_.size(), "optimizer: moments of ", moments.size(),
          " parameters, expected ", moments_.size());
  auto same_shape = [](const Tensor& a, const Tensor& b) {
    return a.defined() == b.defined() && (!a.defined() || a.shape() == b.shape());
  };
  for (size_t n = 0; n < moments.size(); ++n)
    require(moments[n].updates >= 0 && same_shape(moments[n].first, moments_[n].first) &&
                same_shape(moments[n].second, moments_[n].second),
            "optimizer: the moments of ", parameters_[n].name, " do not fit it");
  moments_ = std::move(moments);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
