#include <shiftgrad/shiftgrad.h>

#include <iostream>
using namespace shiftgrad;

int main(int count, char** arguments) try {
  initialize();
  std::vector<int32_t> text = byte_tokens(read_file(count > 1 ? arguments[1] : "README.md"));
  Random random{.seed = 1};
  LanguageModelConfig config{
      .vocab_size = 256, .d_model = 64, .n_layer = 2, .n_head = 4, .d_inner = 256};
  config.mixer = TransformerXLAttentionConfig{};
  LanguageModel model(config, random);
  TrainerConfig training{.batch_size = 4, .block_size = 64, .mem_len = 64};
  Trainer trainer(model, text, /*validation_text=*/{}, training);
  trainer.run();
  std::cout << "On the text it read: " << evaluate(model, text) << "\n\n";
  std::cout << "This is " << generate(model, "This is ", {.length = 300}) << '\n';
} catch (const std::exception& error) {
  std::cerr << "first_model: " << error.what() << '\n';
  return 1;
}
