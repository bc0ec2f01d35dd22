// An encoder alone, which sees both ways: one byte of seven becomes a blank, and the model says
// what stood there (Devlin et al. 2018, section 3.1, task 1, without its random replacements).
// masked_bytes [FILE [STEPS]] trains on nine tenths of a text, and fills blanks in the rest, first
// with a model that sees what stands before a blank, then with one that sees both sides.

#include <shiftgrad/shiftgrad.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

using namespace shiftgrad;

constexpr int32_t blank = 256;  // behind all bytes
constexpr int64_t T = 64;

struct Masked {
  Tokens seen, wanted;  // [B, T]: blanks in a text, and bytes where the other has blanks
};

Masked masked(const Tokens& text, Random& random) {
  Masked result{text, text};
  for (size_t n = 0; n < text.values.size(); ++n)
    (random.below(7) == 0 ? result.seen : result.wanted).values[n] = blank;
  return result;
}

/// Makes one update from one batch, and returns the loss before it, which blanks alone have.
double step(const LanguageModel& model, const Masked& batch, Optimizer& optimizer) {
  Context context{.training = true};
  Tape tape;
  Tensor logits = model(batch.seen, {}, context).logits;  // [B, T, V]
  Tensor loss = cross_entropy(logits, batch.wanted, {.ignored = blank});
  optimizer.zero_gradients();
  tape.backward(loss);
  clip_gradient_norm(optimizer.parameters(), 1);
  optimizer.step(2e-3);
  return loss.item();
}

/// Returns a text with its blanks filled by the likeliest bytes.
Tokens filled(const LanguageModel& model, Tokens text) {
  Context context;
  Tensor logits = model(text, {}, context).logits;             // [B, T, V]
  Tokens likeliest = argmax(slice(logits, -1, 0, blank), -1);  // [B, T]
  for (size_t n = 0; n < text.values.size(); ++n)
    if (text.values[n] == blank) text.values[n] = likeliest.values[n];
  return text;
}

/// Prints which share of a text's blanks is filled rightly, and a line of the text.
void show(const LanguageModel& model, std::span<const int32_t> text, Random random) {
  std::vector<int64_t> begins;
  for (int64_t begin = 0; begin + T <= std::ssize(text); begin += T) begins.push_back(begin);
  Tokens whole = rows_at(text, begins, 0, T);  // [B, T]
  Tokens seen = masked(whole, random).seen, guess = filled(model, seen);
  double blanks = 0, right = 0;
  for (size_t n = 0; n < whole.values.size(); ++n) {
    blanks += seen.values[n] == blank;
    right += seen.values[n] == blank && guess.values[n] == whole.values[n];
  }
  std::cout << std::lround(100 * right / blanks) << " % of the blanks are filled rightly\n";
  for (Tokens* each : {&whole, &seen, &guess}) {
    for (int32_t byte : std::span(each->values).first(T))
      std::cout << (byte == blank ? '_' : byte == '\n' ? ' ' : static_cast<char>(byte));
    std::cout << '\n';
  }
}

int main(int count, char** arguments) try {
  initialize();
  std::vector<int32_t> text = byte_tokens(read_file(count > 1 ? arguments[1] : "README.md"));
  require(text.size() >= 10 * (T + 1), text.size(), " bytes, expected at least ", 10 * (T + 1));
  std::span train = std::span(text).first(text.size() * 9 / 10);
  const int steps = count > 2 ? std::atoi(arguments[2]) : 400;
  require(steps >= 4, "STEPS \"", arguments[2], "\", expected a whole number from 4 on");
  for (bool causal : {true, false}) {
    std::cout << (causal ? "What stands before\n" : "Both sides\n");
    Random random{.seed = 1};
    LanguageModelConfig config{.vocab_size = 257, .d_model = 64, .n_layer = 2, .n_head = 4};
    config.d_inner = 256;
    config.mixer = TransformerXLAttentionConfig{.sight = {.causal = causal}};
    LanguageModel model(config, random);
    Optimizer optimizer(parameters(model), AdamW{});
    RandomBlocks blocks(train, 16, T, random);
    for (int n = 1; n <= steps; ++n) {
      double loss = step(model, masked(blocks.next().inputs, random), optimizer);
      if (n % (steps / 4) == 0) std::cout << "step " << n << ": loss " << loss << '\n';
    }
    show(model, std::span(text).subspan(train.size()), random);
  }
} catch (const std::exception& error) {
  std::cerr << "masked_bytes: " << error.what() << '\n';
  return 1;
}
