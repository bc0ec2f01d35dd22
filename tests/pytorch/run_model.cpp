// run_model CHECKPOINT CASE OUT runs the model of a checkpoint of char_lm or seq2seq forward and
// backward, as these programs make it.
//
//   CASE  tokens [B, T], or source [B, S] and target [B, T]; cotangent [B, T, V] of the logits
//   OUT   logits [B, T, V], and the gradient of each parameter under its name

#include <iostream>

#include "core/io/tensor_file.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "examples/apps/char_lm/run_folder.h"
#include "examples/apps/seq2seq/run.h"

using namespace shiftgrad;

namespace {

template <class Forward>
SafeTensors differentiate(const SafeTensors& given, const Module& model, Forward forward) {
  Tape tape;
  Tensor logits = forward();
  tape.backward(logits, loaded_tensor("cotangent", given.tensors.at("cotangent")));
  SafeTensors answer;
  answer.tensors.emplace("logits", stored(logits));
  for (const Parameter& parameter : parameters(model))
    answer.tensors.emplace(parameter.name, stored(parameter.value.gradient()));
  return answer;
}

SafeTensors run(const std::string& checkpoint, const SafeTensors& given) {
  auto tokens = [&](const char* name) { return loaded_tokens(name, given.tensors.at(name)); };
  Context context;
  if (given.tensors.contains("source")) {
    EncoderDecoder model = seq2seq::make_model(seq2seq::load_checkpoint(checkpoint));
    return differentiate(given, model,
                         [&] { return model({tokens("source")}, {tokens("target")}, context); });
  }
  LanguageModel model = make_model(char_lm::load_checkpoint(checkpoint).checkpoint, checkpoint);
  return differentiate(given, model,
                       [&] { return model(tokens("tokens"), Memory(), context).logits; });
}

}  // namespace

int main(int count, char** arguments) try {
  if (count != 4) {
    std::cerr << "usage: run_model CHECKPOINT CASE OUT\n";
    return 2;
  }
  initialize();
  write_safetensors(arguments[3], run(arguments[1], read_safetensors(arguments[2])));
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
