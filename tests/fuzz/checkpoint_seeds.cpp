#include "tests/fuzz/checkpoint_seeds.h"

#include <cstdlib>

#include "core/errors.h"
#include "examples/apps/char_lm/run_folder.h"
#include "examples/apps/seq2seq/run.h"
#include "nn/state_dict.h"
#include "tests/fuzz/words.h"
#include "tests/support/temporary_folder.h"

namespace fuzz {

namespace {

constexpr const char* path = "seed.safetensors";

/// A value for an option of a model, or none.
template <class Value>
void choose(std::optional<Value>& option, const shiftgrad::Field& field, Choices& choices) {
  if (!choices.once_in(2)) return;
  if constexpr (std::is_same_v<Value, std::string>)
    option = choices.of(words_of(shiftgrad::unit_of<Value>(field)));
  else if constexpr (std::is_same_v<Value, bool>)
    option = choices.once_in(2);
  else
    option = std::is_same_v<Value, double> ? Value(0.5) : Value(1 + choices.below(6));
}

/// Throws where the choices make no model.
void write_language_model(Choices& choices) {
  const std::vector<char_lm::ModelKind>& kinds = char_lm::model_kinds();
  const char_lm::ModelKind& kind = choices.of(kinds);
  char_lm::TrainFlags flags;
  flags.data = "text";
  flags.eval_split = 0.5;
  flags.vocab = choices.once_in(2) ? "bytes" : "characters";
  flags.model.model = kind.name;
  flags.model.n_layer = 1;
  flags.model.n_head = 1 + static_cast<int64_t>(choices.below(2));
  flags.model.n_embd = 4;
  flags.model.d_inner = 2;
  flags.model.block_size = 1 + static_cast<int64_t>(choices.below(6));
  flags.model.visit_options([&](auto& option, const shiftgrad::Field& field) {
    if (takes_option(kind, field.name)) choose(option, field, choices);
  });
  flags.resolve_defaults();
  flags.data = "text";
  shiftgrad::Checkpoint checkpoint;
  checkpoint.model = char_lm::model_config(flags.model, 4);
  checkpoint.vocabulary = {'\n', ' ', 'a', 'b'};
  checkpoint.state.step = 3;
  checkpoint.state.train_loss = 1.5;
  checkpoint.state.validation_loss = 2;
  checkpoint.training = flags.to_json();
  shiftgrad::Random random;
  checkpoint.weights = state_dict(shiftgrad::LanguageModel(checkpoint.model, random));
  write_checkpoint(path, checkpoint);
}

void write_encoder_decoder(Choices& choices) {
  seq2seq::TrainFlags flags;
  flags.data = "pairs";
  flags.eval_split = 0.5;
  seq2seq::ModelFlags& model = flags.model;
  model.visit([&]<class Value>(Value& value, const shiftgrad::Field& field) {
    if constexpr (std::is_same_v<Value, std::string>) value = choices.of(words_of(field.choices));
  });
  model.mixer.visit(
      [&](auto& option, const shiftgrad::Field& field) { choose(option, field, choices); });
  model.n_layer = 1;
  model.n_head = 1 + static_cast<int64_t>(choices.below(2));
  model.n_embd = 4;
  model.d_inner = 2;
  model.max_len = 2 + static_cast<int64_t>(choices.below(10));
  model.norm_first = choices.once_in(2);
  model.share_embedding = choices.once_in(2);
  model.tie_embedding = choices.once_in(2);
  flags.resolve_defaults();
  flags.data = "pairs";
  seq2seq::Symbols symbols(seq2seq::Unit::character, {" ", "a", "b"}, seq2seq::first_symbol);
  seq2seq::SavedRun run{path, flags, model_config(model, symbols.tokens(), symbols.tokens()),
                        symbols, symbols};
  shiftgrad::Random random;
  run.weights = state_dict(shiftgrad::EncoderDecoder(run.model, random));
  write_run(path, run);
}

/// What the function writes, when it has found options that go together.
std::string written(void write(Choices&), Choices& choices) {
  while (true) {
    try {
      write(choices);
      return read_text(path);
    } catch (const shiftgrad::Error&) {
    }
  }
}

}  // namespace

std::string language_model_seed(Choices& choices) { return written(write_language_model, choices); }

std::string encoder_decoder_seed(Choices& choices) {
  return written(write_encoder_decoder, choices);
}

std::string checkpoint_seed(Choices& choices) {
  return choices.once_in(3) ? encoder_decoder_seed(choices) : language_model_seed(choices);
}

}  // namespace fuzz
