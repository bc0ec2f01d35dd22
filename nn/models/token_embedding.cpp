#include "nn/models/token_embedding.h"

#include <cmath>

#include "core/checked.h"
#include "core/errors.h"
#include "nn/positions.h"
#include "ops/arithmetic.h"
#include "ops/embedding.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

TokenEmbedding::TokenEmbedding(const char* owner, const TokenEmbeddingConfig& own, Init init)
    : config(own), model(owner) {
  check_fields(model, config);
  bool learned = config.position == TokenPosition::learned;
  require(learned == config.max_len.has_value(), model, ": max_len ",
          learned ? "is missing for learned positions" : "without learned positions");
  weight = normal_parameter({config.vocab_size, config.d_model}, init);
  if (config.position == TokenPosition::sinusoid)
    sinusoids(model, {}, config.d_model);  // or throws
  if (learned) positions = normal_parameter({*config.max_len, config.d_model}, init);
}

Tensor TokenEmbedding::operator()(const Tokens& tokens, int64_t first, Context& context) const {
  require(tokens.shape.size() == 2, model, ": tokens of ", tokens.shape, ", expected [B, T]");
  Tensor x = embedding(weight, tokens);  // [B, T, C]
  if (config.scale)
    x = shiftgrad::scale(x, static_cast<Scalar>(std::sqrt(static_cast<double>(config.d_model))));
  Within{model}(range::steps, "first position", first);
  int64_t last = first + tokens.shape[1];
  if (positions.defined()) {
    require(last <= *config.max_len, model, ": ", last, " positions are beyond max_len ",
            *config.max_len);
    x = x + slice(positions, 0, first, last);
  } else if (config.position == TokenPosition::sinusoid) {
    x = x + sinusoids(model, first, tokens.shape[1], config.d_model);
  }
  return context.drop(x, config.dropout);
}

void TokenEmbedding::visit(Visitor& visitor) const {
  visitor("embedding.weight", weight, Decay::yes);
  visitor("position_embedding.weight", positions);
}

Linear output_layer(const TokenEmbedding& embedding, bool tied, Init init) {
  Linear output;
  output.weight = tied ? embedding.weight : normal_parameter(embedding.weight.shape(), init);
  output.bias = constant_parameter({embedding.weight.size(0)}, 0, init);
  return output;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
