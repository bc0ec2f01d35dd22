#include "run_layer.h"

#include <string>
#include <vector>

#include "core/errors.h"
#include "core/tape.h"
#include "nn/models/config.h"
#include "nn/parameter_budget.h"
#include "ops/loss.h"
#include "ops/shift.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the layer or model of a config, with the case's parameters.
template <class Config>
typename Config::Layer loaded_layer(Case& given, const Config& config) {
  ParameterBudget budget(given.tensors());
  typename Config::Layer layer = make_layer(config, budget);
  given.take_parameters(layer);
  return layer;
}

/// Takes a tensor [B, T, C] under a name. B and T are at least 1, or B is as given.
Tensor take_sequence(Case& given, const std::string& name, int64_t C, int64_t B = 0) {
  Tensor x = given.take(name);
  bool fits = x.rank() == 3 && x.size(0) >= 1 && (B == 0 || x.size(0) == B) && x.size(1) >= 1 &&
              x.size(2) == C;
  require(fits, given.layer, ": tensor \"", name, "\" is ", x.shape(), ", expected [",
          B == 0 ? "B" : std::to_string(B), ", T, ", C, "], no size of 0");
  return x;
}

/// Takes a tensor [B, M, C] under a name to go with x, with M at least 0. It is undefined if
/// absent.
Tensor take_memory(Case& given, const std::string& name, int64_t B, int64_t C) {
  Tensor memory = given.take_if_present(name);
  bool fits =
      !memory.defined() || (memory.rank() == 3 && memory.size(0) == B && memory.size(2) == C);
  require(fits, given.layer, ": tensor \"", name, "\" is ", memory.shape(), ", expected [", B,
          ", M, ", C, "]");
  return memory;
}

void refuse(const Case& given, const char* name) {
  require(!given.has(name), given.layer, ": tensor \"", name, "\" is not accepted here");
}

void take_masks(Case& given, Context& context) {
  context.key_padding_mask = given.take_mask("input.key_padding_mask");
  context.attention_mask = given.take_mask("input.attention_mask");
}

/// Runs `forward` under a tape and back from grad_output, and collects the answer.
template <class Forward>
Answer differentiate(Case& given, const Module& module, const std::vector<std::string>& inputs,
                     const std::vector<Tensor>& values, Forward forward) {
  Tensor cotangent = given.take("grad_output");
  given.expect_empty();
  for (const Tensor& value : values) value.require_gradient();
  Tape tape;
  Tensor output = forward();
  require(cotangent.shape() == output.shape(), given.layer, ": tensor \"grad_output\" is ",
          cotangent.shape(), ", expected ", output.shape());
  tape.backward(output, cotangent);
  Answer answer;
  answer.put("output", output);
  answer.put_parameter_gradients(module);
  for (size_t n = 0; n < inputs.size(); ++n) answer.put_gradient("input." + inputs[n], values[n]);
  return answer;
}

/// Runs a layer with the common interface.
template <class Config>
Answer run_sequence_layer(Case& given, const Config& config) {
  auto layer = loaded_layer(given, config);
  Tensor x = take_sequence(given, "input.x", config.d_model);
  if (std::is_same_v<Config, Sized<RTransformerBlockConfig>>) refuse(given, "input.memory");
  Tensor memory = take_memory(given, "input.memory", x.size(0), x.size(2));
  Context context;
  take_masks(given, context);
  return differentiate(given, layer, {"x"}, {x}, [&] { return layer(x, memory, context); });
}

Answer run_cross_attention(Case& given, const Sized<MultiHeadAttentionConfig>& config) {
  auto layer = loaded_layer(given, config);
  Tensor x = take_sequence(given, "input.x", config.d_model);
  Tensor source = take_sequence(given, "input.context", config.d_model, x.size(0));
  refuse(given, "input.memory");
  Context context;
  take_masks(given, context);
  return differentiate(given, layer, {"x", "context"}, {x, source},
                       [&] { return layer.cross(x, source, context); });
}

Answer run_encoder_decoder_block(Case& given, const Sized<EncoderDecoderBlockConfig>& config) {
  auto block = loaded_layer(given, config);
  int64_t C = config.d_model;
  Tensor x = take_sequence(given, "input.x", C);
  Source source{take_sequence(given, "input.context", C, x.size(0))};
  Tensor memory = take_memory(given, "input.memory", x.size(0), C);
  Context context{.source = &source};
  take_masks(given, context);
  return differentiate(given, block, {"x", "context"}, {x, source.output},
                       [&] { return block(x, memory, context); });
}

Answer run_named_layer(Case& given, const LayerConfig& config) {
  auto* attention = std::get_if<Sized<MultiHeadAttentionConfig>>(&config);
  if (attention && given.has("input.context")) return run_cross_attention(given, *attention);
  return std::visit(
      [&]<class Config>(const Config& layer) {
        if constexpr (std::is_same_v<Config, Sized<EncoderDecoderBlockConfig>>)
          return run_encoder_decoder_block(given, layer);
        else
          return run_sequence_layer(given, layer);
      },
      config);
}

struct NoParameters : Module {
  void visit(Visitor&) const override {}
};

Tensor take_matrices(Case& given) {
  Tensor x = given.take("input.x");
  require(x.rank() >= 2 && x.count() > 0, given.layer, ": tensor \"input.x\" is ", x.shape(),
          ", expected […, T, K], no size of 0");
  return x;
}

Answer run_rel_shift(Case& given) {
  auto config = config_from_json<RelShiftConfig>(given.config);
  Tensor x = take_matrices(given);
  return differentiate(given, NoParameters(), {"x"}, {x},
                       [&] { return rel_shift(x, config.zero_triu); });
}

Answer run_shift_right(Case& given) {
  config_from_json<ShiftRightConfig>(given.config);
  Tensor x = take_matrices(given);
  return differentiate(given, NoParameters(), {"x"}, {x}, [&] { return shift_right(x); });
}

/// Takes tokens [B, T], each in 0 … V-1.
Tokens take_tokens(Case& given, const std::string& name, const LanguageModelConfig& config) {
  Tokens tokens = given.take_tokens(name);
  const Dims& shape = tokens.shape;
  require(shape.size() == 2 && product(shape) >= 1, given.layer, ": tensor \"", name, "\" is ",
          shape, ", expected [B, T], no size of 0");
  for (int32_t token : tokens.values)
    require(0 <= token && token < config.vocab_size, given.layer, ": tensor \"", name, "\" has ",
            token, ", expected 0 to ", config.vocab_size - 1);
  return tokens;
}

/// Takes input.memory.L for every block, all of one length, or for none.
Memory take_memories(Case& given, int64_t B, const LanguageModelConfig& config) {
  Memory memory;
  for (int64_t n = 0; n < config.n_layer; ++n) {
    std::string name = "input.memory." + std::to_string(n);
    Tensor block = take_memory(given, name, B, config.d_model);
    bool fits = n == 0 || (block.defined() ? !memory.empty() && block.size(1) == memory[0].size(1)
                                           : memory.empty());
    require(fits, given.layer, ": tensor \"", name, "\" is ",
            block.defined() ? text(block.shape()) : "missing", ", unlike input.memory.0");
    if (block.defined()) memory.push_back(block);
  }
  return memory;
}

Answer run_language_model(Case& given) {
  auto config = config_from_json<LanguageModelConfig>(given.config);
  if (config.block == BlockType::r_transformer_block) refuse(given, "input.memory.0");
  auto model = loaded_layer(given, config);
  Tokens tokens = take_tokens(given, "input.tokens", config);
  Tokens targets = take_tokens(given, "input.targets", config);
  require(targets.shape == tokens.shape, given.layer, ": tensor \"input.targets\" is ",
          targets.shape, ", expected ", tokens.shape);
  Memory memory = take_memories(given, tokens.shape[0], config);
  given.expect_empty();
  Context context;
  Tape tape;
  auto [logits, block_inputs, features] = model(tokens, memory, context);
  Tensor loss = cross_entropy(logits, targets);
  tape.backward(loss);
  Answer answer;
  answer.put("loss", loss);
  answer.put("output", logits);
  for (size_t n = 0; n < block_inputs.size(); ++n)
    answer.put("memory." + std::to_string(n), block_inputs[n]);
  answer.put_parameter_gradients(model);
  return answer;
}

}  // namespace

Answer run_layer(Case& given) {
  if (given.layer == LanguageModelConfig::type) return run_language_model(given);
  if (given.layer == RelShiftConfig::type) return run_rel_shift(given);
  if (given.layer == ShiftRightConfig::type) return run_shift_right(given);
  if (auto config = config_named<LayerConfig>(given.layer, given.config))
    return run_named_layer(given, *config);
  fail("unknown layer \"", given.layer, "\"");
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
