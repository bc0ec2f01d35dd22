// run_layer CASE.safetensors OUT.safetensors: runs one layer forward and backward on given parameters
// and inputs, so that another implementation can be held against it.
//
//   CASE  metadata `layer` and `config` (JSON); tensors param.NAME, input.NAME, grad_output
//   OUT   output, grad.param.NAME, grad.input.NAME; for a language_model also loss and memory.L
//
// Exit status 2 and one line on standard error when the case is broken; nothing is written then.

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "case.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/tape.h"
#include "nn/config.h"
#include "nn/encoder_decoder_block.h"
#include "nn/language_model.h"
#include "ops/loss.h"
#include "ops/shift.h"

using namespace shiftgrad;

namespace {

Tensor sequence(const Case& given, const char* name, const Tensor& x) {
  require(x.rank() == 3 && x.size(0) >= 1 && x.size(1) >= 1, given.layer, ": tensor \"", name,
          "\" is ", x.shape(), ", expected [B, T, C]");
  return x;
}

/// input.memory [B, M, C] to go with x, or an undefined tensor.
Tensor take_memory(Case& given, const Tensor& x) {
  Tensor memory = given.take_if_present("input.memory");
  bool fits = !memory.defined() || (memory.rank() == 3 && memory.size(0) == x.size(0) &&
                                    memory.size(2) == x.size(2));
  require(fits, given.layer, ": tensor \"input.memory\" is ", memory.shape(), ", expected [",
          x.size(0), ", M, ", x.size(2), "]");
  return memory;
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

/// A layer with the common interface.
template <class Config>
Answer run_sequence_layer(Case& given) {
  auto config = config_from_json<Config>(given.config);
  Random random;
  typename Config::Layer layer(config, random);
  given.take_parameters(layer);
  Tensor x = sequence(given, "input.x", given.take("input.x"));
  Tensor memory = take_memory(given, x);
  Context context;
  take_masks(given, context);
  return differentiate(given, layer, {"x"}, {x},
                       [&] { return layer.forward(x, memory, context); });
}

Answer run_multi_head_attention(Case& given) {
  if (!given.has("input.context")) return run_sequence_layer<MultiHeadAttentionConfig>(given);
  auto config = config_from_json<MultiHeadAttentionConfig>(given.config);
  Random random;
  MultiHeadAttention layer(config, random);
  given.take_parameters(layer);
  Tensor x = sequence(given, "input.x", given.take("input.x"));
  Tensor source = sequence(given, "input.context", given.take("input.context"));
  require(!given.has("input.memory"), given.layer, ": tensor \"input.memory\" with a context");
  Context context;
  take_masks(given, context);
  return differentiate(given, layer, {"x", "context"}, {x, source},
                       [&] { return layer.cross(x, source, context); });
}

Answer run_encoder_decoder_block(Case& given) {
  auto config = config_from_json<EncoderDecoderBlockConfig>(given.config);
  Random random;
  EncoderDecoderBlock block(config, random);
  given.take_parameters(block);
  Tensor x = sequence(given, "input.x", given.take("input.x"));
  Tensor source = sequence(given, "input.context", given.take("input.context"));
  Tensor memory = take_memory(given, x);
  Context context, unmasked;
  take_masks(given, context);
  return differentiate(given, block, {"x", "context"}, {x, source},
                       [&] { return block.forward(x, memory, source, context, unmasked); });
}

struct NoParameters : Module {
  void visit(Visitor&) const override {}
};

Tensor take_matrices(Case& given) {
  Tensor x = given.take("input.x");
  require(x.rank() >= 2 && x.count() > 0, given.layer, ": tensor \"input.x\" is ", x.shape(),
          ", expected […, T, K]");
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

/// input.memory.L for every block, or for none.
Memory take_memories(Case& given, const LanguageModel& model) {
  Memory memory;
  if (!given.has("input.memory.0")) return memory;
  for (size_t n = 0; n < model.blocks.size(); ++n)
    memory.push_back(given.take("input.memory." + std::to_string(n)));
  return memory;
}

Answer run_language_model(Case& given) {
  auto config = config_from_json<LanguageModelConfig>(given.config);
  Random random;
  LanguageModel model(config, random);
  given.take_parameters(model);
  Tokens tokens = given.take_tokens("input.tokens"), targets = given.take_tokens("input.targets");
  Memory memory = take_memories(given, model);
  given.expect_empty();
  Context context;
  Tape tape;
  std::vector<Tensor> block_inputs;
  Tensor logits = model.forward(tokens, memory, context, &block_inputs);
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

struct Runner {
  const char* layer;
  Answer (*run)(Case&);
};

constexpr Runner runners[] = {
    {"multi_head_attention", run_multi_head_attention},
    {"relative_multi_head_attention", run_sequence_layer<RelativeMultiHeadAttentionConfig>},
    {"relative_global_attention", run_sequence_layer<RelativeGlobalAttentionConfig>},
    {"shaw_attention", run_sequence_layer<ShawAttentionConfig>},
    {"transformer_xl_attention", run_sequence_layer<TransformerXLAttentionConfig>},
    {"aft", run_sequence_layer<AftConfig>},
    {"local_rnn", run_sequence_layer<LocalRnnConfig>},
    {"transformer_block", run_sequence_layer<TransformerBlockConfig>},
    {"r_transformer_block", run_sequence_layer<RTransformerBlockConfig>},
    {"encoder_decoder_block", run_encoder_decoder_block},
    {"language_model", run_language_model},
    {"rel_shift", run_rel_shift},
    {"shift_right", run_shift_right},
};

Answer run(Case& given) {
  for (const Runner& runner : runners)
    if (given.layer == runner.layer) return runner.run(given);
  fail("unknown layer \"", given.layer, "\"");
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 3) {
    std::cerr << "usage: run_layer CASE.safetensors OUT.safetensors\n";
    return 2;
  }
  initialize();
  Case given(arguments[1]);
  write_safetensors(arguments[2], run(given).content);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
