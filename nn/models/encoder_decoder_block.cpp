#include "nn/models/encoder_decoder_block.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/errors.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

const EncoderDecoderBlockConfig& checked(const EncoderDecoderBlockConfig& config) {
  check_fields(config.type, config);
  return config;
}

/// Settings that the cross-attention takes from the mixer: its heads, and whether it has biases.
MultiHeadAttentionConfig cross_config(const EncoderDecoderBlockConfig& config) {
  MultiHeadAttentionConfig cross{.attention_dropout = config.attention_dropout};
  auto take = [&](const auto& mixer) {
    std::optional<int64_t> heads = config.n_head;
    if constexpr (requires { mixer.n_head; })
      if (!heads) heads = mixer.n_head;
    require(heads.has_value(), config.type, ": n_head is missing, and the mixer has none");
    cross.d_model = mixer.d_model;
    cross.n_head = *heads;
    // Transformer-XL's own projections have no biases, unlike those of the cross-attention.
    if constexpr (
        requires { mixer.bias; } && !requires { mixer.content_bias; })
      cross.bias = mixer.bias;
  };
  std::visit(take, config.mixer);
  return cross;
}

/// The keys and values of B sources, to which N rows of targets attend.
struct SourceState : StateOf<SourceState> {
  Heads heads{};
  std::shared_ptr<const Mask> padding{};  // [B, S], or null
  int64_t rows = 0;                       // N, 0 before the first call

  /// A source stays as it is, whatever its targets forget.
  void forget_newest(int64_t) override {}

  /// Keeps the source of each row. As long as all stay in their order, nothing is copied.
  void reorder(const std::vector<int64_t>& members) override {
    if (rows == 0) return;
    int64_t B = heads.key.size(0), each = rows / B;
    std::vector<int64_t> kept;
    for (size_t n = 0; n < members.size(); n += static_cast<size_t>(each))
      kept.push_back(members[n] / each);
    rows = std::ssize(members);
    bool ascending =
        std::adjacent_find(kept.begin(), kept.end(), std::greater_equal()) == kept.end();
    if (ascending && std::ssize(kept) == B) return;
    heads = {{}, members_of(heads.key, kept), members_of(heads.value, kept)};
    if (!padding) return;
    Mask left{{std::ssize(kept), padding->shape[1]}, {}};
    for (int64_t source : kept)
      std::ranges::copy(shiftgrad::rows(*padding, source, source + 1).values,
                        std::back_inserter(left.values));
    padding = std::make_shared<const Mask>(std::move(left));
  }
};

}  // namespace

EncoderDecoderBlock::EncoderDecoderBlock(const EncoderDecoderBlockConfig& config, Initial values)
    : TransformerBlock(checked(config), values) {
  name = config.type;
  MultiHeadAttentionConfig cross = cross_config(config);
  parts.insert(parts.begin() + 1,
               Part{"cross_attention", std::make_unique<CrossAttention>(cross, values),
                    "cross_attention_norm", LayerNorm(cross.d_model, config.norm_eps)});
}

Tensor CrossAttention::forward(const Tensor& x, const Past& past, Context& context) const {
  require(context.source, name, ": no source in the context");
  auto& [output, outer] = *context.source;
  auto* state = past.state<SourceState>();
  if (!state) return cross(x, output, outer);
  if (state->rows == 0) {
    state->heads = source_heads(output);
    state->padding = outer.key_padding_mask;
  }
  state->rows = x.size(0);
  int64_t B = state->heads.key.size(0), T = x.size(1);
  require(state->rows % B == 0, EncoderDecoderBlockConfig::type, ": ", state->rows, " rows for ", B,
          " sources, expected a multiple");
  // To the attention, several rows of one source are just more queries of that source.
  Tensor queries = reshape(x, {B, state->rows / B * T, x.size(2)});  // [B, N/B·T, C]
  Context own = outer.with_padding(state->padding);
  return reshape(cross(queries, state->heads, own), x.shape());  // [N, T, C]
}

std::unique_ptr<State> CrossAttention::start(int64_t) const { return new_state<SourceState>(); }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
