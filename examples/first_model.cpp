// A first model, from layers to text: first_model [FILE [STEPS]] trains a small Transformer-XL on a
// text file, or on a nursery rhyme, scores it on the end of the text, and lets it write.

#include <shiftgrad/shiftgrad.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

using namespace shiftgrad;

/// "The House That Jack Built". Each verse adds a line to the verse before.
std::string rhyme() {
  std::string text, verse;
  for (std::string line :
       {"the house that Jack built.", "the malt that lay in", "the rat that ate",
        "the cat that killed", "the dog that worried", "the cow with the crumpled horn that tossed",
        "the maiden all forlorn that milked", "the man all tattered and torn that kissed",
        "the priest all shaven and shorn that married",
        "the cock that crowed in the morn that woke", "the farmer sowing his corn that kept"}) {
    verse = line + "\n" + verse;
    text += "This is " + verse + "\n";
  }
  return text;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  require(file.is_open(), path, ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The tokens of a text are its bytes: a vocabulary of 256.
std::vector<int32_t> encode(const std::string& text) {
  auto bytes = reinterpret_cast<const unsigned char*>(text.data());
  return {bytes, bytes + text.size()};
}

int main(int count, char** arguments) try {
  initialize();
  const char* argument = count > 2 ? arguments[2] : "300";
  int64_t steps = std::atoll(argument);
  require(steps > 0, "STEPS ", argument, ", expected a number above 0");
  std::vector<int32_t> text = encode(count > 1 ? read(arguments[1]) : rhyme());
  std::span train = std::span(text).first(text.size() * 9 / 10);
  std::span validation = std::span(text).subspan(train.size());

  Random random{.seed = 1};
  LanguageModel model({.vocab_size = 256,
                       .d_model = 64,
                       .n_layer = 2,
                       .n_head = 4,
                       .d_inner = 256,
                       .mixer = TransformerXLAttentionConfig{}},
                      random);
  std::cout << parameter_count(model) << " parameters\n";

  Trainer trainer(model, train, validation,
                  {.batch_size = 4, .block_size = 64, .mem_len = 64, .max_iters = steps});
  trainer.run({.on_step = [](const StepReport& report) {
    if (report.step % 50 == 0)
      std::cout << "step " << report.step << ": loss " << report.loss << '\n';
  }});

  Evaluation score = evaluate(model, validation, {.mem_len = 64});
  std::cout << score.bits() << " bits per character\n\n";

  std::cout << "This is ";
  generate(model, encode("This is "),
           {.length = 300, .sampling = {.temperature = 0.5}, .mem_len = 64},
           [](int32_t token) { std::cout << static_cast<char>(token) << std::flush; });
  std::cout << '\n';
} catch (const std::exception& error) {
  std::cerr << "first_model: " << error.what() << '\n';
  return 1;
}
