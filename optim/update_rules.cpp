#include "optim/update_rules.h"

#include <array>
#include <cmath>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using BlockValues = std::array<Scalar, UpdateBlock::most>;

/// Adam's update, without decay of the weights themselves; AdamW shares it.
template <class Rule>
void adam_update(const Rule& rule, double rate, int64_t t, const UpdateBlock& block) {
  auto keep_second = static_cast<Scalar>(rule.beta2);
  auto take_first = static_cast<Scalar>(1 - rule.beta1);
  auto take_second = static_cast<Scalar>(1 - rule.beta2);
  auto [w, g, m, v, count] = block;
  for (int64_t i = 0; i < count; ++i) {
    m[i] += take_first * (g[i] - m[i]);
    v[i] = keep_second * v[i] + take_second * g[i] * g[i];
  }
  BlockValues root;
  simd::map(simd::Unary::sqrt, v, root.data(), count);

  auto updates = static_cast<double>(t);
  auto step = static_cast<Scalar>(rate / (1 - std::pow(rule.beta1, updates)));
  auto correction = static_cast<Scalar>(std::sqrt(1 - std::pow(rule.beta2, updates)));
  auto eps = static_cast<Scalar>(rule.eps);
  for (int64_t i = 0; i < count; ++i) w[i] -= step * m[i] / (root[i] / correction + eps);
}

void update(const AdamW& rule, double rate, double decay, int64_t t, const UpdateBlock& block) {
  simd::axpby(static_cast<Scalar>(1 - rate * decay), block.weight, 0, block.weight, block.count);
  adam_update(rule, rate, t, block);
}

/// Returns the block with g + decay w, which is made in `sum`, in place of g.
UpdateBlock with_decay(const UpdateBlock& block, double decay, BlockValues& sum) {
  if (decay == 0) return block;
  UpdateBlock decayed = block;
  decayed.gradient = sum.data();
  for (int64_t i = 0; i < block.count; ++i)
    sum[i] = block.gradient[i] + static_cast<Scalar>(decay) * block.weight[i];
  return decayed;
}

void update(const Adam& rule, double rate, double decay, int64_t t, const UpdateBlock& block) {
  BlockValues sum;
  adam_update(rule, rate, t, with_decay(block, decay, sum));
}

void update(const SGD& rule, double rate, double decay, int64_t, const UpdateBlock& plain) {
  BlockValues sum;
  UpdateBlock block = with_decay(plain, decay, sum);
  const Scalar* direction = block.gradient;
  if (block.first) {
    simd::axpby(1, block.gradient, static_cast<Scalar>(rule.momentum), block.first, block.count);
    direction = block.first;
  }
  simd::axpby(static_cast<Scalar>(-rate), direction, 1, block.weight, block.count);
}

}  // namespace

void update(const UpdateRule& any, double rate, bool decays, int64_t t, const UpdateBlock& block) {
  std::visit(
      [&](const auto& rule) { update(rule, rate, decays ? rule.weight_decay : 0, t, block); }, any);
}

int moment_count(const UpdateRule& rule) {
  auto* sgd = std::get_if<SGD>(&rule);
  return !sgd ? 2 : sgd->momentum > 0 ? 1 : 0;
}

void check(const UpdateRule& any) {
  std::visit([](const auto& rule) { check_fields(rule.type, rule); }, any);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
