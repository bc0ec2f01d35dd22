#include "score_terms.h"

#include "core/errors.h"
#include "core/io/json.h"
#include "core/tape.h"
#include "examples/apps/char_lm/attention_maps.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace book {

namespace {

/// Returns x, which broadcasts to [1, heads or channels, T, T], as a matrix for each head.
MatrixOfHeads by_head(const Tensor& x, int64_t H, const Dims& shape) {
  int64_t T = shape[3];
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
  char_lm::Weighing weighing = char_lm::weighing_of(model);
  int64_t T = std::ssize(text), H = weighing.heads;
  Dims shape{1, weighing.by_channel ? model.config.d_model : H, T, T};
  std::vector<LayerTerms> layers;
  Context context;
  context.term_editor = [&](std::vector<ScoreTerm>& terms) {
    layers.emplace_back();
    for (const auto& [name, scores] : terms)
      layers.back().terms.emplace_back(
          name, by_head(scores * static_cast<Scalar>(weighing.factor), H, shape));
    leave_out(terms, without);
  };
  context.recorder = [&](const Tensor& weights) {
    Tensor by_key = weighing.by_channel ? permute(weights, {0, 3, 1, 2}) : weights;
    layers.back().weights = by_head(by_key, H, shape);
  };
  model({{1, T}, text}, Memory(), context);
  return layers;
}

WithoutTerms::WithoutTerms(const LanguageModel& model, const TermNames& names)
    : model(model), names(names), feeds_again(char_lm::weighing_of(model).by_channel) {
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

std::unique_ptr<Cache> WithoutTerms::make_cache(int64_t limit) const {
  if (feeds_again) return SequenceModel::make_cache(limit);
  std::unique_ptr<Cache> cache = model.make_cache(limit);
  cache->owner = identity();
  return cache;
}

Tensor WithoutTerms::step(const Tokens& tokens, Cache& cache, Context& context) const {
  if (feeds_again) return SequenceModel::step(tokens, cache, context);
  Context own = editing(context);
  return model.step(tokens, cache, own);
}

}  // namespace book
