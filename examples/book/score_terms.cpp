#include "score_terms.h"

#include <cmath>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/io/json.h"
#include "shiftgrad/core/tape.h"
#include "shiftgrad/nn/models/config.h"
#include "shiftgrad/ops/arithmetic.h"
#include "shiftgrad/ops/reduce.h"
#include "shiftgrad/ops/shape.h"

namespace book {

namespace {

const AftConfig* aft(const LanguageModel& model) {
  if (model.config.block != BlockType::transformer_block) return nullptr;
  return std::get_if<AftConfig>(&model.config.mixer);
}

/// The number of heads that have weights of their own.
int64_t heads(const LanguageModel& model) {
  return aft(model) && aft(model)->form != AftForm::conv ? 1 : model.config.n_head;
}

/// What a sum of terms is multiplied by: 1/√D.
double factor(const LanguageModel& model) {
  if (aft(model)) return 1;
  int64_t D = model.config.d_model / model.config.n_head;
  if (auto* xl = std::get_if<TransformerXLAttentionConfig>(&model.config.mixer))
    D = xl->d_head.value_or(D);
  return 1 / std::sqrt(static_cast<double>(D));
}

/// Returns x, which broadcasts to [1, H or C, T, T], as a matrix for each head.
MatrixOfHeads by_head(const LanguageModel& model, const Tensor& x, const Dims& shape) {
  int64_t H = heads(model), T = shape[3];
  Tensor all = contiguous(expand(x, shape));
  std::vector<Scalar> values = mean(reshape(all, {H, shape[1] / H, T, T}), {1}).values();
  MatrixOfHeads matrices;
  for (auto head = values.begin(); head != values.end(); head += T * T)
    matrices.emplace_back(head, head + T * T);
  return matrices;
}

void leave_out(std::vector<ScoreTerm>& terms, const TermNames& names) {
  for (const std::string& name : names) {
    std::string known;
    for (const ScoreTerm& term : terms) known += (known.empty() ? "" : ", ") + term.name;
    require(std::erase_if(terms, [&](const ScoreTerm& term) { return term.name == name; }) > 0,
            "\"without\" has ", shown(name), ", expected some of ", known);
  }
}

}  // namespace

std::vector<LayerTerms> score_terms(const LanguageModel& model, const std::vector<int32_t>& text,
                                    const TermNames& without) {
  Tape::Pause constant;
  int64_t T = std::ssize(text);
  Dims shape{1, aft(model) ? model.config.d_model : model.config.n_head, T, T};
  std::vector<LayerTerms> layers;
  Context context;
  context.term_editor = [&](std::vector<ScoreTerm>& terms) {
    layers.emplace_back();
    for (const auto& [name, scores] : terms)
      layers.back().terms.emplace_back(
          name, by_head(model, scores * static_cast<Scalar>(factor(model)), shape));
    leave_out(terms, without);
  };
  context.recorder = [&](const Tensor& weights) {
    Tensor by_channel = aft(model) ? permute(weights, {0, 3, 1, 2}) : weights;
    layers.back().weights = by_head(model, by_channel, shape);
  };
  model({{1, T}, text}, Memory(), context);
  return layers;
}

WithoutTerms::WithoutTerms(const LanguageModel& model, const TermNames& names)
    : model(model), names(names) {
  name = model.name;
}

Context WithoutTerms::editing(const Context& context) const {
  Context own = context;
  if (!names.empty())
    own.term_editor = [this](std::vector<ScoreTerm>& terms) { leave_out(terms, names); };
  return own;
}

ModelOutput WithoutTerms::forward(const Tokens& tokens, const Memory& memory,
                                  Context& context) const {
  Context own = editing(context);
  return model.forward(tokens, memory, own);
}

// The state of an AFT has sums in the place of scores. It is fed the same tokens again instead.

std::unique_ptr<State> WithoutTerms::start(int64_t limit) const {
  return aft(model) ? SequenceModel::start(limit) : model.start(limit);
}

Tensor WithoutTerms::step(const Tokens& tokens, State& state, Context& context) const {
  if (aft(model)) return SequenceModel::step(tokens, state, context);
  Context own = editing(context);
  return model.step(tokens, state, own);
}

}  // namespace book
