#include "auxiliary_losses.h"

#include "core/errors.h"
#include "core/field.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/shape.h"

namespace char_lm {

using namespace shiftgrad;

namespace {

void check(const AuxiliaryLossesConfig& config, const ModelTraits& model) {
  AuxiliaryLossesConfig(config).fields(InRange{"auxiliary losses"});
  require(config.targets == 1 || model.n_layer > 0, "auxiliary losses: targets ", config.targets,
          " for a model that returns no features");
  require(config.intermediate_losses == 0 || model.n_layer != 0,
          "auxiliary losses: intermediate_losses ", config.intermediate_losses,
          " for a model that returns no inputs of its blocks");
  require(config.intermediate_losses == 0 || model.n_layer > 1,
          "auxiliary losses: intermediate_losses ", config.intermediate_losses,
          " for a model of one block, which is the last");
}

/// Returns a + b, where a may be undefined.
Tensor plus(const Tensor& a, const Tensor& b) { return a.defined() ? a + b : b; }

/// Returns the `distance`-th token after each of the first T - distance + 1 positions.
Tokens shifted(const Tokens& targets, int64_t distance) {
  int64_t B = targets.shape[0], T = targets.shape[1], left = T - distance + 1;
  Tokens result{{B, left}, {}};
  for (int64_t b = 0; b < B; ++b) {
    auto row = targets.values.begin() + b * T;
    result.values.insert(result.values.end(), row + distance - 1, row + T);
  }
  return result;
}

}  // namespace

AuxiliaryLosses::AuxiliaryLosses(const AuxiliaryLossesConfig& config, const ModelTraits& model,
                                 Random& random)
    : config_(config), dropout_(model.dropout) {
  check(config, model);
  for (int64_t block = 1; block <= model.n_layer; ++block) {
    auto head = std::make_unique<Head>();
    bool last = block == model.n_layer;
    bool predicts = last || config.intermediate_losses > 0;
    if (predicts && !last && model.final_norm) head->norm = LayerNorm(model.d_model);
    for (int64_t target = last ? 2 : 1; predicts && target <= config.targets; ++target)
      head->outputs.push_back(
          std::make_unique<Linear>(model.d_model, model.vocab_size, true, random));
    heads_.push_back(std::move(head));
  }
}

double AuxiliaryLosses::weight(int64_t block, int64_t step) const {
  int64_t blocks = std::ssize(heads_);
  if (block == blocks) return 1;
  return 2 * blocks * step < block * config_.training_iters ? config_.intermediate_losses : 0;
}

Tensor AuxiliaryLosses::operator()(const ModelOutput& output, const Tokens& targets, int64_t step,
                                   Context& context) const {
  int64_t blocks = std::ssize(heads_);
  Tensor total;
  for (int64_t block = 1; block < blocks; ++block) {
    double factor = weight(block, step);
    if (factor == 0) continue;
    const Head& head = *heads_[block - 1];
    const Tensor& x = output.block_inputs[block];  // h_l [B, T, C]
    Tensor normed = context.drop(head.norm.weight.defined() ? head.norm(x) : x, dropout_);
    total = plus(total, scale(block_loss(head, normed, targets), static_cast<Scalar>(factor)));
  }
  if (blocks == 0) return total;
  Tensor last = block_loss(*heads_.back(), output.features, targets);
  return last.defined() ? plus(total, last) : total;
}

Tensor AuxiliaryLosses::block_loss(const Head& head, const Tensor& features,
                                   const Tokens& targets) const {
  int64_t first = config_.targets - std::ssize(head.outputs) + 1;
  Tensor total;
  for (int64_t target = first; target <= config_.targets; ++target) {
    int64_t positions = targets.shape[1] - target + 1;
    if (positions < 1) break;
    Tensor seen = slice(features, 1, 0, positions);         // [B, positions, C]
    Tensor logits = (*head.outputs[target - first])(seen);  // [B, positions, V]
    Tensor loss = cross_entropy(logits, shifted(targets, target));
    double factor = target == 1 ? 1 : config_.extra_targets_weight;
    total = plus(total, scale(loss, static_cast<Scalar>(factor)));
  }
  return total;
}

std::string AuxiliaryLosses::config_text() const {
  std::string list = shiftgrad::text("training_iters ", config_.training_iters);
  AuxiliaryLossesConfig(config_).fields([&](auto value, const shiftgrad::Field& field) {
    list += shiftgrad::text(", ", field.name, " ", value);
  });
  return list;
}

void AuxiliaryLosses::visit(Visitor& visitor) const { visitor("blocks", heads_); }

void AuxiliaryLosses::Head::visit(Visitor& visitor) const {
  visitor("norm", norm);
  visitor("outputs", outputs);
}

}  // namespace char_lm
