#include "ops/score_terms.h"

#include "core/errors.h"
#include "ops/arithmetic.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor sum_of_terms(std::vector<ScoreTerm> terms, const TermEditor& editor, const Dims& shape) {
  if (editor) editor(terms);
  Tensor sum = Tensor::zeros(shape);
  for (const ScoreTerm& term : terms) sum = sum + term.scores;
  require(sum.shape() == shape, "sum_of_terms: terms of the shape ", sum.shape(), ", expected ",
          shape);
  return sum;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
