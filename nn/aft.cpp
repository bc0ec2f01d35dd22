#include "nn/aft.h"

#include <algorithm>
#include <tuple>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/aft_cache.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Throws unless each key is given exactly when the form uses it.
void check(const AftConfig& config, Width width) {
  auto expect = [&](const char* key, const std::optional<int64_t>& value, bool used, bool needed) {
    require(used || !value, config.type, ": ", key, " with form ", config.form);
    require(value || !needed, config.type, ": ", key, " is missing for form ", config.form);
  };
  bool conv = config.form == AftForm::conv;
  expect("max_len", config.max_len, config.has_table(), config.has_table());
  expect("window", config.window, config.has_window(), config.has_window());
  expect("n_head", width.n_head, conv, conv);
  expect("factor_rank", config.factor_rank, config.has_table(), false);
  if (!conv) return;
  require(width.d_model % *width.n_head == 0, config.type, ": d_model ", width.d_model,
          " is not divisible by n_head ", *width.n_head);
  require(config.causal || *config.window % 2 == 1, config.type, ": window ", *config.window,
          " of a two-way conv, expected an odd number");
}

/// Throws when a mask, recorder or editor asks about single keys, which the sums have replaced.
void refuse_single_keys(const Context& context) {
  const char* instead = " with a cache that sums up tokens; give make_cache a limit, or a memory";
  require(!context.key_padding_mask, "aft: takes no key_padding_mask", instead);
  require(!context.attention_mask, "aft: takes no attention_mask", instead);
  require(!context.recorder, "aft: takes no recorder", instead);
  require(!context.term_editor, "aft: takes no term_editor", instead);
}

}  // namespace

Aft::Aft(const AftConfig& aft, Width given, Init init) : config(aft), width(given) {
  name = config.type;
  check_fields(config.type, Sized{config, width});
  check(config, width);
  // Positions in the table are at most this far apart.
  if (config.form == AftForm::local) config.window = std::min(*config.window, *config.max_len);
  int64_t C = width.d_model, L = config.max_len.value_or(0), rank = config.factor_rank.value_or(0);
  auto projection = [&](int64_t out) { return Linear(C, out, config.bias, init); };
  if (config.form == AftForm::conv) {
    query = projection(C);
    key = projection(*width.n_head);
    value = projection(C);
  } else {
    qkv = projection(3 * C);
  }
  output = projection(C);
  if (config.form == AftForm::conv) {
    kernel = normal_parameter({*width.n_head, *config.window}, init);
    kernel_gain = constant_parameter({*width.n_head}, 0, init);
    kernel_offset = constant_parameter({*width.n_head}, 0, init);
  } else if (config.has_table() && rank == 0) {
    position_bias = normal_parameter({L, L}, init);
  } else if (config.has_table()) {
    position_bias_query = normal_parameter({L, rank}, init);
    position_bias_key = normal_parameter({L, rank}, init);
  }
}

AftTerms Aft::project(const Tensor& x, const Tensor& memory) const {
  Tensor source = concat({memory, x}, 1);  // [B, K, C]
  if (config.form == AftForm::conv) {
    Tensor k = key(source);  // [B, K, H]
    Dims by_head{k.size(0), k.size(1), k.size(2), width.d_model / k.size(2)};
    Tensor channels = reshape(expand(unsqueeze(k, 3), by_head), source.shape());  // [B, K, C]
    return {.gate = sigmoid(query(x)), .key = channels, .value = value(source)};
  }
  auto third = [&](const Tensor& input, int64_t part) {
    return qkv.part(input, part * width.d_model, (part + 1) * width.d_model);
  };
  return {.gate = sigmoid(third(x, 0)), .key = third(source, 1), .value = third(source, 2)};
}

AftBand Aft::table_band(int64_t M, int64_t T) const {
  int64_t K = M + T, s = config.window.value_or(0);
  require(K <= limits().length, "aft: ", K, " tokens are beyond max_len ", limits().length);
  bool local = config.form == AftForm::local;
  int64_t start = M - s + 1, from = local ? std::max<int64_t>(0, start) : 0;  // first key needed
  int64_t n = config.causal ? s : 2 * s - 1;
  Tensor w;
  if (position_bias.defined()) {
    w = slice(slice(position_bias, 0, M, K), 1, from, K);  // [T, K - from]
    if (local) return {shifted_rows(unsqueeze(w, 0), n, start - from, 1), start, 1};  // [1, T, n]
  } else {
    Tensor queries = slice(position_bias_query, 0, M, K),
           keys = slice(position_bias_key, 0, from, K);
    if (local) return {unsqueeze(banded_product(queries, keys, n, start - from), 0), start, 1};
    w = matmul(queries, transpose(keys));  // [T, K]
  }
  return {unsqueeze(w, 0), 0, 0};  // [1, T, K]
}

AftBand Aft::conv_band(int64_t M, int64_t T) const {
  int64_t H = kernel.size(0), s = kernel.size(1);
  Tensor one = Tensor::full({s}, 1), zero = Tensor::zeros({s});
  Tensor normed = deviation_norm(kernel, one, zero, 1e-5, false);  // (kernel - mean) / std
  Tensor w = unsqueeze(kernel_gain, 1) * normed + unsqueeze(kernel_offset, 1);  // [H, s]
  // Causal taps count the distance t - t', so the farthest key has the last tap.
  Tensor by_key = config.causal ? flip(w, 1) : w;
  int64_t start = M - (config.causal ? s - 1 : (s - 1) / 2);
  return {expand(unsqueeze(by_key, 1), {H, T, s}), start, 1};  // [H, T, s]
}

AftBand Aft::band(int64_t M, int64_t T) const {
  Within within{"aft"};
  within(range::steps, "earlier tokens", M);
  within(range::steps, "queries", T);
  if (config.form == AftForm::conv) return conv_band(M, T);
  if (config.form == AftForm::simple) {
    // The band is empty and lies after all keys that a query sees.
    Tensor none = Tensor::empty({1, T, 0});
    return config.causal ? AftBand{none, M + 1, 1} : AftBand{none, M + T, 0};
  }
  return table_band(M, T);
}

LayerTerms Aft::terms(const Tensor& x, const Past& past, Context& context) const {
  auto* cache = past.cache<AftCache>();
  if (cache && cache->sums()) return {};
  check_input(name, x, past.memory(), width.d_model);
  int64_t T = x.size(1), M = past.memory().defined() ? past.memory().size(1) : 0;
  if (cache) M = cache->position();
  AftBand biases = band(M, T);
  AftTerms terms = project(x, past.memory());
  terms.band = biases;
  terms.visibility = {{config.causal}, context.key_padding_mask, context.attention_mask};
  if (cache) std::tie(terms.key, terms.value) = cache->append(terms.key, terms.value);
  return terms;
}

Tensor Aft::forward(const Tensor& x, const Past& past, Context& context) const {
  auto* cache = past.cache<AftCache>();
  if (cache && cache->sums()) {
    check_input(name, x, {}, width.d_model);
    refuse_single_keys(context);
    AftTerms terms = project(x, {});
    return output(terms.gate *
                  cache->feed(terms.key, terms.value, band(cache->position(), x.size(1))));
  }
  const auto [gate, k, v, w, visible] = std::get<AftTerms>(terms(x, past, context));
  Tensor mixed = context.needs_probabilities()
                     ? composed_aft(k, v, w, visible, context.recorder, context.term_editor)
                     : aft_mix(k, v, w, visible);
  return output(gate * mixed);  // [B, T, C]
}

std::unique_ptr<Cache> Aft::make_cache(int64_t limit) const {
  require(config.causal, "aft: a two-way layer cannot be fed in pieces");
  AtLeast{name.c_str()}(0, "limit", limit);
  // A limit that no sequence can exceed is no limit.
  if (limit < limits().length - 1) return new_cache<AftCache>(limit, AftCache::Older::forgotten);
  if (config.form == AftForm::full)
    return new_cache<AftCache>(limits().length, AftCache::Older::forgotten);
  return new_cache<AftCache>(config.window.value_or(0), AftCache::Older::summed);
}

void Aft::visit(Visitor& visitor) const {
  visitor("query", query);
  visitor("key", key);
  visitor("value", value);
  visitor("qkv", qkv);
  visitor("output", output);
  visitor("position_bias", position_bias);
  visitor("position_bias_query", position_bias_query);
  visitor("position_bias_key", position_bias_key);
  visitor("kernel", kernel);
  visitor("kernel_gain", kernel_gain);
  visitor("kernel_offset", kernel_offset);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
