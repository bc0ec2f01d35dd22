#include "nn/models/token_embedding.h"

#include <cmath>
#include <numeric>

#include "core/errors.h"
#include "nn/layer.h"
#include "nn/positions.h"
#include "ops/arithmetic.h"
#include "ops/embedding.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TokenEmbedding::TokenEmbedding(const char* owner, const TokenEmbeddingConfig& own, Initial values)
    : config(own), model(owner) {
  bool learned = config.position == TokenPosition::learned;
  require(learned == config.max_len.has_value(), model, ": max_len ",
          learned ? "is missing for learned positions" : "without learned positions");
  require(config.position != TokenPosition::sinusoid || config.d_model % 2 == 0, model,
          ": sinusoid positions need an even d_model, not ", config.d_model);
  weight = normal_parameter({config.vocab_size, config.d_model}, values);
  if (learned) positions = normal_parameter({*config.max_len, config.d_model}, values);
}

Tensor TokenEmbedding::operator()(const Tokens& tokens, int64_t first, Context& context) const {
  require(tokens.shape.size() == 2, model, ": tokens of ", tokens.shape, ", expected [B, T]");
  Tensor x = embedding(weight, tokens);  // [B, T, C]
  if (config.scale)
    x = shiftgrad::scale(x, static_cast<Scalar>(std::sqrt(static_cast<double>(config.d_model))));
  int64_t last = first + tokens.shape[1];
  if (positions.defined()) {
    require(last <= *config.max_len, model, ": ", last, " positions are beyond max_len ",
            *config.max_len);
    x = x + slice(positions, 0, first, last);
  } else if (config.position == TokenPosition::sinusoid) {
    std::vector<int64_t> rows(tokens.shape[1]);
    std::iota(rows.begin(), rows.end(), first);
    x = x + sinusoids(model, rows, config.d_model);
  }
  return context.drop(x, config.dropout);
}

int64_t TokenEmbedding::longest() const { return config.max_len.value_or(unlimited); }

void TokenEmbedding::visit(Visitor& visitor) const {
  visitor("embedding.weight", weight, Decay::yes);
  visitor("position_embedding.weight", positions);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
