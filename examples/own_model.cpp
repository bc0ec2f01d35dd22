// A model of your own, which the library has never heard of: own_model [FILE] trains it and saves
// it in FILE as it goes. Started again with that file, it goes on from there, as if never stopped.

#include <shiftgrad/shiftgrad.h>

#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

using namespace shiftgrad;

/// One layer of attention between an embedding and the output.
struct Tiny : SequenceModel {
  static constexpr int64_t vocab_size = 128, d_model = 48;
  TokenEmbedding embedding;
  MultiHeadAttention attention;
  FeedForward feed_forward;
  LayerNorm norm;
  Linear output;

  explicit Tiny(Random& random)
      : embedding("tiny", {.vocab_size = vocab_size, .d_model = d_model}, random),
        attention({.position = AttentionPosition::rope}, {d_model, 4}, random),
        feed_forward(d_model, 4 * d_model, Activation::relu, 0, random),
        norm(d_model),
        output(d_model, vocab_size, true, random) {
    name = "tiny";
  }

  ModelTraits traits() const override { return {.vocab_size = vocab_size, .d_model = d_model}; }
  std::string config_text() const override { return R"({"type": "tiny", "d_model": 48})"; }

  ModelOutput forward(const Tokens& tokens, const Memory&, Context& context) const override {
    Tensor x = embedding(tokens, 0, context);  // [B, T, C]
    x = x + attention(x, context);             // [B, T, C]
    x = x + feed_forward(x, context);          // [B, T, C]
    return {.logits = output(norm(x))};        // [B, T, V]
  }

  void visit(Visitor& visitor) const override {
    visitor("embedding", embedding);
    visitor("attention", attention);
    visitor("feed_forward", feed_forward);
    visitor("norm", norm);
    visitor("output", output);
  }
};

std::vector<int32_t> encode(const std::string& text) { return {text.begin(), text.end()}; }

/// One sentence, many times.
std::string repeated(const std::string& sentence, int times) {
  std::string text;
  for (int n = 0; n < times; ++n) text += sentence;
  return text;
}

int main(int count, char** arguments) try {
  initialize();
  std::string path = count > 1 ? arguments[1] : "own_model.safetensors";
  std::vector<int32_t> text =
      encode(repeated("The quick brown fox jumps over the lazy dog. ", 200));
  std::span train = std::span(text).first(text.size() * 9 / 10);
  std::span validation = std::span(text).subspan(train.size());

  Random random{.seed = 1};
  Tiny model(random);
  Trainer trainer(model, train, validation,
                  {.batch_size = 8,
                   .block_size = 64,
                   .max_iters = 300,
                   .learning_rate = 1e-2,
                   .save_interval = 20});
  if (std::filesystem::exists(path)) {
    trainer.resume(load(model, path).trainer, path);
    std::cout << "goes on after step " << trainer.state().step << '\n';
  }
  trainer.run(
      {.on_step =
           [](const StepReport& report) {
             if (report.step % 100 == 0)
               std::cout << "step " << report.step << ": loss " << report.loss << std::endl;
           },
       .on_save =
           [&] { save(model, path, {.step = trainer.state().step, .trainer = trainer.saved_view()}); }});

  Tiny read_back(random);
  load(read_back, path);
  std::cout << evaluate(read_back, validation) << '\n';
  std::cout << "The quick ";
  generate(read_back, encode("The quick "), {.length = 70, .sampling = {.temperature = 0}},
           [](int32_t token) { std::cout << static_cast<char>(token); });
  std::cout << '\n';
} catch (const std::exception& error) {
  std::cerr << "own_model: " << error.what() << '\n';
  return 1;
}
