#include "nn/models/encoder_decoder_block.h"

#include <algorithm>
#include <functional>

#include "core/errors.h"
#include "nn/caches.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

const EncoderDecoderBlockConfig& checked(const EncoderDecoderBlockConfig& config) {
  check_fields(config.type, config);
  return config;
}

/// Returns the cross-attention. It has biases where the mixer has.
std::unique_ptr<Layer> cross_attention(EncoderDecoderBlockConfig config, Width width, Init init) {
  MultiHeadAttentionConfig cross{.attention_dropout = config.attention_dropout};
  // Transformer-XL's field has another name: a cross-attention beside it always has biases.
  if (const bool* bias = find_field<bool>(config.mixer, "bias")) cross.bias = *bias;
  if (config.n_head) width.n_head = config.n_head;
  require(width.n_head.has_value(), config.type, ": n_head is missing, and the mixer has none");
  return std::make_unique<CrossAttention>(cross, width, init);
}

/// The keys and values of B sources, to which N rows of targets attend.
struct SourceCache : CacheOf<SourceCache> {
  Heads heads{};
  std::shared_ptr<const Mask> padding{};  // [B, S], or null
  int64_t rows = 0;                       // N, 0 before the first call

  /// A source stays as it is, whatever its targets forget.
  void forget_newest(int64_t) override {}

  /// Keeps the source of each row. Where groups of rows still share one, it is kept once for each;
  /// as long as all stay in their order, nothing is copied.
  void reorder(const std::vector<int64_t>& members) override {
    if (rows == 0) return;
    int64_t B = heads.key.size(0), each = rows / B;
    auto source = [&](int64_t n) { return members[n] / each; };
    rows = std::ssize(members);
    bool shared = rows % each == 0;
    for (int64_t n = 0; n < rows; ++n) shared = shared && source(n) == source(n - n % each);
    std::vector<int64_t> kept;
    for (int64_t n = 0; n < rows; n += shared ? each : 1) kept.push_back(source(n));
    bool ascending =
        std::adjacent_find(kept.begin(), kept.end(), std::greater_equal()) == kept.end();
    if (ascending && std::ssize(kept) == B) return;
    heads = {{}, members_of(heads.key, kept), members_of(heads.value, kept)};
    if (padding) padding = std::make_shared<const Mask>(members_of(*padding, kept));
  }
};

}  // namespace

EncoderDecoderBlock::EncoderDecoderBlock(const EncoderDecoderBlockConfig& config, Width width,
                                         Init init, std::unique_ptr<Layer> own_mixer)
    : TransformerBlock(checked(config), width, init, std::move(own_mixer)) {
  name = config.type;
  parts.insert(parts.begin() + 1,
               Part{"cross_attention", cross_attention(config, width, init), "cross_attention_norm",
                    LayerNorm(width.d_model, config.norm_eps)});
}

Tensor CrossAttention::forward(const Tensor& x, const Past& past, Context& context) const {
  require(context.source, name, ": no source in the context");
  auto& [output, outer] = *context.source;
  auto* cache = past.cache<SourceCache>();
  if (!cache) return cross(x, output, outer);
  if (cache->rows == 0) {
    cache->heads = source_heads(output);
    cache->padding = outer.key_padding_mask;
  }
  cache->rows = x.size(0);
  int64_t B = cache->heads.key.size(0), T = x.size(1);
  require(B == 0 ? cache->rows == 0 : cache->rows % B == 0, EncoderDecoderBlockConfig::type, ": ",
          cache->rows, " rows for ", B, " sources, expected a multiple");
  if (B == 0) return x;
  // To the attention, several rows of one source are just more queries of that source.
  Tensor queries = reshape(x, {B, cache->rows / B * T, x.size(2)});  // [B, N/B·T, C]
  Context own = outer.with_padding(cache->padding);
  return reshape(cross(queries, cache->heads, own), x.shape());  // [N, T, C]
}

std::unique_ptr<Cache> CrossAttention::make_cache(int64_t) const {
  return new_cache<SourceCache>();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
