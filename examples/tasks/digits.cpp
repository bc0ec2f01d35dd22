// Handwritten digits of 8x8 pixels, told apart by an encoder alone. Nine overlapping patches of 4x4
// pixels are the tokens, all see each other, and the mean of what comes out names the digit.
// `digits DATA MODEL [SEED [STEPS]]` reads what baselines.py wrote, and writes the best model.

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "program.h"

using namespace shiftgrad;

struct Part {
  Tensor images;  // [N, 8, 8], 0 to 16
  Tokens labels;  // [N]
};

Part part(const SafeTensors& file, const std::string& name) {
  return {converted_tensor(name, file.tensors.at(name + ".images")),
          loaded_tokens(name, file.tensors.at(name + ".labels"))};
}

struct Encoder : VectorModel {
  Tensor positions;  // [9, C]

  explicit Encoder(Random random)
      : VectorModel(16, 10,
                    {.d_model = 64,
                     .n_layer = 2,
                     .n_head = 4,
                     .d_inner = 128,
                     .mixer = MultiHeadAttentionConfig{.sight = {.causal = false}},
                     .dropout = 0.2},
                    random),
        positions(normal_parameter({9, 64}, random)) {}

  /// Returns the logits [B, 10] of images [B, 8, 8].
  Tensor operator()(const Tensor& images, Context& context) const {
    std::vector<Tensor> patches;
    for (int64_t y : {0, 2, 4})
      for (int64_t x : {0, 2, 4})
        patches.push_back(reshape(slice(slice(images, 1, y, y + 4), 2, x, x + 4), {-1, 1, 16}));
    Tensor x = input(concat(patches, 1) / 8 - 1) + positions;  // [B, 9, C]
    return output(mean(body(x, context), {1}));                // [B, 10]
  }
  void visit(Visitor& visitor) const override {
    VectorModel::visit(visitor);
    visitor("positions", positions);
  }
};

/// Returns images [B, 8, 8] moved by at most one pixel up or down and left or right.
Tensor moved(const Tensor& images, Random& random) {
  int64_t y = random.below(3), x = random.below(3);
  Tensor row = Tensor::zeros({images.size(0), 1, 8}),
         column = Tensor::zeros({images.size(0), 10, 1});
  Tensor framed = concat({column, concat({row, images, row}, 1), column}, 2);  // [B, 10, 10]
  return slice(slice(framed, 1, y, y + 8), 2, x, x + 8);                       // [B, 8, 8]
}

/// Returns the share of the digits that are named wrongly, in percent.
Evaluation errors(const Encoder& model, const Part& part) {
  Context context;
  Tokens guess = argmax(model(part.images, context), 1);  // [N]
  int64_t wrong = 0, all = std::ssize(guess.values);
  for (size_t n = 0; n < guess.values.size(); ++n)
    wrong += guess.values[n] != part.labels.values[n];
  return {100.0 * static_cast<double>(wrong) / static_cast<double>(all), all};
}

void digits(const Arguments& arguments) {
  SafeTensors file = read_safetensors(arguments.text(0, "DATA"));
  check_names({"test.images", "test.labels", "train.images", "train.labels", "validation.images",
               "validation.labels"},
              file.tensors);
  std::string path = arguments.text(1, "MODEL");
  auto seed = static_cast<uint64_t>(arguments.number(2, "SEED", 1));
  Part train = part(file, "train"), validation = part(file, "validation");
  Encoder model({.seed = seed});
  Epochs batches(train.images.size(0), 32, seed);
  auto loss = [&](Context& context) {
    std::vector<int64_t> batch = batches.next();
    Tensor images = members_of(train.images, batch);  // [B, 8, 8]
    if (context.random.below(2) == 0) images = moved(images, context.random);
    return cross_entropy(model(images, context), members_of(train.labels, batch));
  };
  TaskTraining training(
      model, AdamW{.weight_decay = 0.05},
      {.schedule = {.learning_rate = 2e-3, .warmup_iters = 50},
       .max_iters = arguments.number(3, "STEPS", 3600),
       .eval_interval = 100,
       .grad_clip = 1,
       .seed = seed},
      {.loss = loss,
       .scores = [&] { return std::pair(errors(model, train), errors(model, validation)); },
       .visit_state = [&](SavedState& saved) { batches.visit(saved); }});
  training.run(saving_the_best(model, path));
  load(model, path);
  std::cout << "of test " << errors(model, part(file, "test")).nats << " % wrong\n";
}

int main(int count, char** words) { return run_program("digits", count, words, digits); }
