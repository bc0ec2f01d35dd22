#include "nn/attention_check.h"

#include "core/errors.h"
#include "ops/elementwise.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void check_equation(const std::string& layer, const RelativeAttention& terms, int64_t K,
                    const Context& context) {
  const Visibility& own = terms.visibility;
  require(
      own.sight == Visibility{}.sight && own.first_position == 0, layer,
      ": equation sets which keys are seen by their places, expected causal, window and chunk of "
      "the layer");
  require(terms.dropout.rate == 0, layer, ": equation sets dropout ", terms.dropout.rate,
          ", expected attention_dropout of the layer");
  int64_t keys = terms.key.defined() ? terms.key.size(2) : K;
  for (const auto& mask : {context.key_padding_mask, context.attention_mask})
    require(!mask || keys == K, layer, ": equation makes ", keys, " keys of ", K, ", which a mask ",
            mask ? mask->shape : Dims(), " does not cover, expected a key for each token");
}

void check_no_distances(const std::string& layer, const RelativeAttention& terms) {
  const RelativeAttention& a = terms;
  bool has_some = a.score_function && !dynamic_cast<const SoftCap*>(a.score_function.get());
  for (const Tensor* term : {&a.position_rows, &a.position_queries, &a.position_scores,
                             &a.clipped_keys, &a.clipped_values})
    has_some = has_some || term->defined();
  require(!has_some, layer,
          ": equation depends on distances, which first keys have lost, expected ",
          "scores_distances() to be true");
}

Tensor without_padding(const Tensor& extra, const std::shared_ptr<const Mask>& padding) {
  if (!extra.defined() || !padding) return extra;
  int64_t B = extra.size(0), T = extra.size(1), K = padding->shape.empty() ? 0 : padding->shape[-1];
  if (padding->shape != Dims{B, K} || K < T) return extra;
  require_complete("attention", "key_padding_mask", *padding);
  Mask newest{{B, T}, {}};
  for (int64_t b = 0; b < B; ++b)
    newest.values.insert(newest.values.end(), padding->values.begin() + (b + 1) * K - T,
                         padding->values.begin() + (b + 1) * K);
  while (newest.shape.size() < extra.rank()) newest.shape.push_back(1);
  return where(newest, Tensor::full({}, 0), extra);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
