#include "inside.h"

#include "core/errors.h"
#include "core/tape.h"
#include "ops/arithmetic.h"
#include "ops/loss.h"
#include "ops/softmax.h"

namespace book {

namespace {

/// Returns the tokens [1, n] of a text from one of them on.
Tokens row_of(const std::vector<int32_t>& text, int64_t first, int64_t n) {
  return {{1, n}, {text.begin() + first, text.begin() + first + n}};
}

/// Adds what the parts of one block compute, as Block::forward does. Returns the block's output.
Tensor add_block(std::vector<Stage>& stages, const Block& block, const std::string& name, Tensor x,
                 Context& context) {
  for (const auto& [part, function, norm_name, norm] : block.parts) {
    stages.push_back({name + norm_name, norm(x)});
    stages.push_back({name + part, function->forward(stages.back().value, Past(), context)});
    x = x + stages.back().value;
    stages.push_back({name + part + "_sum", x});
  }
  return x;
}

}  // namespace

Inside inside(const LanguageModel& model, const std::vector<int32_t>& text) {
  auto T = std::ssize(text) - 1;
  require(T >= 1, "inside: a text of ", text.size(), " tokens, expected at least 2");
  require(model.config.norm_first && model.config.final_norm,
          "inside: expected a model with its norms first");
  Inside found;
  Context context;
  context.recorder = [&](const Tensor& weights) { found.attention.push_back(weights.detach()); };
  Tape tape;
  Tensor x = model.embedding(row_of(text, 0, T), 0, context);  // [1, T, C]
  found.stages.push_back({"embedding", x});
  for (size_t n = 0; n < model.blocks.layers.size(); ++n)
    x = add_block(found.stages, *model.blocks.layers[n], shiftgrad::text("blocks.", n, '.'), x,
                  context);
  found.stages.push_back({"final_norm", model.blocks.norm(x)});
  Tensor logits = model.output(found.stages.back().value);  // [1, T, V]
  found.stages.push_back({"logits", logits});
  Tokens targets = row_of(text, 1, T);
  Tensor loss = cross_entropy(logits, targets);
  found.entries = tape.size();
  tape.backward(loss);
  found.probabilities = softmax(logits.detach());
  found.losses = token_losses(logits, targets);
  found.loss = static_cast<double>(loss.item());
  return found;
}

}  // namespace book
