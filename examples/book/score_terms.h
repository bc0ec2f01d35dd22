#pragma once

// The terms of attention's scores in a trained model: what each of them says about each pair of
// tokens, and what the model does without some of them.

#include <map>
#include <string>
#include <vector>

#include "nn/models/language_model.h"

namespace book {

using namespace shiftgrad;

/// Names of terms, as composed_attention and composed_aft call them.
using TermNames = std::vector<std::string>;

/// A matrix [T, T] for each head, in rows.
using MatrixOfHeads = std::vector<std::vector<Scalar>>;

/// One layer's terms, each as it counts in the softmax, after the factor 1/√D; and the weights that
/// follow from those that are left. In AFT, a head is the mean of the channels that share weights.
struct LayerTerms {
  std::vector<std::pair<std::string, MatrixOfHeads>> terms;
  MatrixOfHeads weights;
};

/// Returns the terms of each layer for a text with nothing before it. The model leaves out the
/// terms `without`. Throws when a layer has no term of such a name.
std::vector<LayerTerms> score_terms(const LanguageModel& model, const std::vector<int32_t>& text,
                                    const TermNames& without);

/// A model that leaves out terms of all its layers' scores, which can be scored and can write.
struct WithoutTerms : SequenceModel {
  const LanguageModel& model;
  TermNames names;
  /// Whether a cache would hold sums in the place of scores, as AFT's does. The tokens are fed
  /// again instead.
  bool feeds_again;

  WithoutTerms(const LanguageModel& model, const TermNames& names);
  ModelTraits traits() const override { return model.traits(); }
  ModelOutput forward(const Tokens& tokens, const Memory& memory, Context& context) const override;
  std::unique_ptr<Cache> make_cache(int64_t limit = unlimited) const override;
  Tensor step(const Tokens& tokens, Cache& cache, Context& context) const override;
  Limits limits() const override { return model.limits(); }
  void visit(Visitor& visitor) const override { model.visit(visitor); }

 private:
  Context editing(const Context& context) const;
};

}  // namespace book
