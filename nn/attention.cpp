#include "nn/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/attention_cache.h"
#include "nn/attention_check.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Heads Attention::heads(const Tensor& x, const Tensor& memory) const {
  if (!memory.defined() || memory.size(1) == 0) {
    std::vector<Tensor> parts = split(project_parts(x, 0, 3), n_head, 1);  // [B, H, T, D] each
    return {parts[0], parts[1], parts[2]};
  }
  Heads all = project_source(concat({memory, x}, 1));
  all.query = project_query(x);
  return all;
}

Tensor Attention::project_parts(const Tensor& x, int64_t begin, int64_t end) const {
  int64_t width = n_head * d_head;
  Tensor parts = qkv.part(x, begin * width, end * width);  // [B, T, nHD]
  return split_heads(parts, (end - begin) * n_head);       // [B, nH, T, D]
}

Heads Attention::project_source(const Tensor& source) const {
  Tensor both = project_parts(source, 1, 3);  // [B, 2H, S, D]
  return {{}, slice(both, 1, 0, n_head), slice(both, 1, n_head, 2 * n_head)};
}

RelativeAttention Attention::terms_of(const Heads& heads, Context& context) const {
  int64_t T = heads.query.size(2), K = heads.key.size(2);
  Tensor positions = position_table(K - 1, nearest(T), context);
  return with_mask_and_dropout(equation(rotated(heads, K - T, 0), positions), K, context);
}

RelativeAttention Attention::with_mask_and_dropout(RelativeAttention terms, int64_t K,
                                                   Context& context, int64_t first_position) const {
  check_equation(name, terms, K, context);
  if (!terms.factor) terms.factor = static_cast<Scalar>(1 / std::sqrt(static_cast<double>(d_head)));
  Visibility& visible = terms.visibility;
  visible.sight = *this;
  visible.first_position = first_position;
  visible.padding = hidden_by_either(visible.padding, context.key_padding_mask);
  visible.hidden = hidden_by_either(visible.hidden, context.attention_mask);
  terms.dropout = context.dropout_pattern(attention_dropout);
  return terms;
}

Tensor Attention::mix(const RelativeAttention& terms, Context& context) const {
  return context.needs_probabilities()
             ? composed_attention(terms, context.recorder, context.term_editor)
             : relative_attention(terms);  // [B, H, T, D]
}

Tensor Attention::project_output(const Tensor& mixed, const Tensor&) const {
  return output(merge_heads(mixed));  // [B, T, C]
}

std::vector<Tensor> Attention::residual_projections() const {
  d_model();  // or throws
  return {output.weight};
}

int64_t Attention::d_model() const {
  require(output.weight.defined(), name,
          ": an attention without heads, expected a constructor that calls build");
  return output.weight.size(0);
}

LayerTerms Attention::terms(const Tensor& x, const Past& past, Context& context) const {
  check_input(name, x, past.memory(), d_model());
  Heads own = heads(x, past.memory());
  own.extra = without_padding(own.extra, context.key_padding_mask);
  auto* cache = past.cache<AttentionCache>();
  if (!cache) return terms_of(own, context);
  int64_t seen = cache->seen(), T = x.size(1);
  require(seen % chunk_size() == 0, name, ": ", T, " tokens behind ", seen,
          ", expected whole chunks of ", chunk_size(), " before them");
  Heads all = cache->append(rotated(own, seen, seen));
  int64_t K = all.key.size(2);
  Tensor positions = cache->positions(K - 1, nearest(T), [&](int64_t farthest, int64_t nearest) {
    return position_table(farthest, nearest, context);  // [n, H, D]
  });
  RelativeAttention terms = equation(all, positions);
  if (always && K < seen + T && !scores_distances()) check_no_distances(name, terms);
  return with_mask_and_dropout(std::move(terms), K, context, seen + T - K);
}

std::unique_ptr<Cache> Attention::make_cache(int64_t limit) const {
  require(chunk_size() > 0, name, ": a two-way layer without chunks cannot be fed in pieces");
  AtLeast{name.c_str()}(0, "limit", limit);
  // A limit counts from the newest token on: a cache with one is a memory of that length.
  if (!always || scores_distances() || limit < unlimited)
    return new_cache<AttentionCache>(limit, attention_span());
  return new_cache<AttentionCache>(limit, Sight{causal, window, chunk}.farthest(unlimited),
                                   *always);
}

void Attention::build(const char* layer, int64_t d_model, int64_t heads,
                      std::optional<int64_t> head_size, bool with_bias, Init init) {
  name = layer;
  AtLeast at_least{layer};
  at_least(1, "d_model", d_model);
  at_least(1, "n_head", heads);
  require(head_size || d_model % heads == 0, layer, ": d_model ", d_model,
          " is not divisible by n_head ", heads);
  n_head = heads;
  d_head = head_size.value_or(d_model / heads);
  at_least(1, "d_head", d_head);
  qkv = Linear(d_model, 3 * n_head * d_head, with_bias, init);
  output = Linear(n_head * d_head, d_model, with_bias, init);
}

void Attention::visit(Visitor& visitor) const {
  visitor("qkv", qkv);
  visitor("output", output);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
