// Music as piano rolls: from the frames of a song, each of 88 keys, a model says which keys sound
// in the next frame, as R-Transformer's authors had it (Wang et al. 2019). Trains one model, or
// goes on with it, and prints the scores of the best one.
//
//     piano_rolls --data FOLDER --out_dir FOLDER [--model NAME] [--recipe authors|adamw] …
//
// FOLDER is what sets.py wrote. A score is the negative log-likelihood of all 88 keys in nats,
// summed over the predicted frames of all songs and divided by their number.

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/program.h"
#include "examples/apps/runs/stop_request.h"
#include "nn/positions.h"
#include "optim/shiftgrad.h"

using namespace shiftgrad;

namespace {

constexpr int64_t keys = 88;

/// What is trained: each has about 1.42 million parameters.
enum class Arm { r_transformer, transformer, local_rnn, transformer_xl, aft };
constexpr auto names(Arm) {
  return std::array{"r_transformer", "transformer", "local_rnn", "transformer_xl", "aft"};
}

/// How: by the authors' SGD, or by AdamW along a cosine.
enum class Recipe { authors, adamw };
constexpr auto names(Recipe) { return std::array{"authors", "adamw"}; }

struct Flags {
  std::string data, out_dir, model = "r_transformer", recipe = "adamw";
  double learning_rate = 1e-3, dropout = 0.1;
  int64_t epochs = 40;
  uint64_t seed = 1;
  int threads = 1;

  void add_to(CLI::App& program) {
    using namespace apps;
    set_required(
        add_flag(program, "data", data, "FOLDER", "folder that sets.py wrote for a set of songs"));
    set_required(add_flag(program, "out_dir", out_dir, "FOLDER",
                          "folder of the checkpoints; a training in it goes on"));
    add_flag(program, model,
             {.name = "model", .help = "model to train", .choices = shiftgrad::choices<Arm>()});
    add_flag(
        program, recipe,
        {.name = "recipe",
         .help = "the authors' SGD, whose rate falls to a tenth where validation stops getting "
                 "better, or AdamW with a cosine",
         .choices = shiftgrad::choices<Recipe>()});
    add_flag(program, "learning_rate", learning_rate, "RATE",
             "highest learning rate; authors have 5e-5 on a song's sum", range::zero_or_more);
    add_flag(program, "dropout", dropout, "SHARE", "dropout in the blocks", Range{0, 1});
    add_flag(program, "epochs", epochs, "EPOCHS", "times that each song is learned from",
             range::one_or_more);
    add_flag(program, "seed", seed, "NUMBER", "seed of the weights and of the order of the songs");
    add_flag(program, "threads", threads, "THREADS", threads_help, range::thread_count);
  }
};

/// The songs of a split, one after another.
struct Songs {
  Tensor frames;                      // [N, 88], 1 where a key sounds
  std::vector<int64_t> begins = {0};  // the first frame of each song, then N

  int64_t count() const { return std::ssize(begins) - 1; }
  /// Returns song n [T + 1, 88].
  Tensor operator[](int64_t n) const {
    size_t at = static_cast<size_t>(n);
    return slice(frames, 0, begins[at], begins[at + 1]);
  }
};

Songs read_songs(const std::string& path) {
  SafeTensors file = read_safetensors(path);
  check_names({"frames", "lengths"}, file.tensors);
  Songs songs{.frames = converted_tensor("frames", file.tensors.at("frames"))};
  for (int32_t length : loaded_tokens("lengths", file.tensors.at("lengths")).values) {
    require(length >= 2, path, ": a song of ", length, " frames, expected at least 2");
    songs.begins.push_back(songs.begins.back() + length);
  }
  require(songs.count() > 0 && songs.frames.shape() == Dims{songs.begins.back(), keys}, path,
          ": frames ", songs.frames.shape(), ", expected ", Dims{songs.begins.back(), keys});
  return songs;
}

/// Three blocks of 160 channels and 4 heads, and a window of 6 tokens where there is one, as the
/// authors have it. The widths of the feed-forward nets make all models as large as theirs.
BlocksConfig blocks_of(Arm arm, double dropout) {
  BlocksConfig config{.d_model = 160, .n_layer = 3, .n_head = 4, .dropout = dropout};
  switch (arm) {
    case Arm::r_transformer:
      config.d_inner = 640;
      config.block = BlockType::r_transformer_block;
      config.window = 6;
      config.cell = RecurrentCell::gru;
      config.final_norm = false;
      break;
    case Arm::transformer:
      config.d_inner = 1122;
      config.mixer = MultiHeadAttentionConfig{};
      break;
    case Arm::local_rnn:
      config.d_inner = 961;
      config.mixer = LocalRnnConfig{.window = 6, .cell = RecurrentCell::gru};
      break;
    case Arm::transformer_xl:
      config.d_inner = 1043;
      config.mixer = TransformerXLAttentionConfig{};
      break;
    case Arm::aft:
      config.d_inner = 1200;
      config.mixer = AftConfig{.form = AftForm::conv, .window = 11};
      break;
  }
  return config;
}

/// Blocks between two linear layers. Only the Transformer adds sinusoids to its input.
struct Model : Module {
  Linear input, output;
  Blocks body;
  bool adds_positions;

  Model(Arm arm, double dropout, Random random)
      : input(keys, 160, true, random),
        output(160, keys, true, random),
        body(blocks_of(arm, dropout), random),
        adds_positions(arm == Arm::transformer) {}

  /// Returns the logits [T, 88] of the frames behind these frames [T, 88].
  Tensor operator()(const Tensor& frames, Context& context) const {
    Tensor x = unsqueeze(input(frames), 0);  // [1, T, C]
    if (adds_positions) x = x + sinusoids("piano_rolls", 0, x.size(1), x.size(2));
    return output(squeeze(body(x, context), 0));  // [T, 88]
  }
  void visit(Visitor& visitor) const override {
    visitor("input", input);
    visitor("body", body);
    visitor("output", output);
  }
};

/// Returns the negative log-likelihood of a song's keys, summed over all frames but the first.
Tensor song_loss(const Model& model, const Tensor& song, Context& context) {
  int64_t T = song.size(0) - 1;
  return binary_cross_entropy_with_logits(model(slice(song, 0, 0, T), context),
                                          slice(song, 0, 1, T + 1), {.reduction = Reduction::sum});
}

/// Returns the mean over the predicted frames of the first `count` songs.
Evaluation score(const Model& model, const Songs& songs, int64_t count) {
  double sum = 0;
  for (int64_t n = 0; n < count; ++n) {
    Context context;
    sum += static_cast<double>(song_loss(model, songs[n], context).item());
  }
  int64_t frames = songs.begins[static_cast<size_t>(count)] - count;
  return {.nats = sum / static_cast<double>(frames), .tokens = frames};
}

/// The authors' rate: a tenth after each epoch past the tenth that is worse than the worst of the
/// three before it.
double plateau_rate(const RateInput& now, double first) {
  if (now.step == 0) return first;
  auto last = now.losses.end() - 1;
  bool is_worse =
      now.is_evaluated && now.losses.size() > 10 && *last > *std::max_element(last - 3, last);
  return is_worse ? now.learning_rate / 10 : now.learning_rate;
}

void train(const Flags& flags, Recipe recipe, Model& model, const Songs& songs,
           const Songs& validation) {
  std::string last = flags.out_dir + "/last.safetensors",
              best = flags.out_dir + "/best.safetensors";
  std::string about =
      text("{\"model\": \"", flags.model, "\", \"recipe\": \"", flags.recipe,
           "\", \"learning_rate\": ", flags.learning_rate, ", \"dropout\": ", flags.dropout,
           ", \"epochs\": ", flags.epochs, ", \"seed\": ", flags.seed, "}");
  Epochs order(songs.count(), 1, flags.seed);
  LoopConfig loop{.schedule = {.learning_rate = flags.learning_rate, .warmup_iters = 100},
                  .max_iters = flags.epochs * songs.count(),
                  .eval_interval = songs.count(),
                  .save_interval = 100,
                  .seed = flags.seed};
  UpdateRule rule = SGD{};
  if (recipe == Recipe::authors) {
    loop.rate = [&](const RateInput& now) { return plateau_rate(now, flags.learning_rate); };
  } else {
    rule = AdamW{.weight_decay = 0.1};
    loop.grad_clip = 1;
  }
  auto loss = [&](Context& context) {
    Tensor song = songs[order.next()[0]];
    Tensor sum = song_loss(model, song, context);
    return recipe == Recipe::authors ? sum : sum / static_cast<Scalar>(song.size(0) - 1);
  };
  int64_t some = std::min(songs.count(), validation.count());
  TaskTraining training(model, rule, loop,
                        {.loss = loss,
                         .scores =
                             [&] {
                               return std::pair(score(model, songs, some),
                                                score(model, validation, validation.count()));
                             },
                         .visit_state = [&](SavedState& saved) { order.visit(saved); }});
  if (std::filesystem::exists(last)) training.resume(load(model, last, about).trainer, last);
  apps::StopRequest stop;
  training.run({.on_evaluation =
                    [&](const EvaluationReport& report) {
                      std::cout << "epoch " << report.step / songs.count() << ": "
                                << report.train.nats << ", validation " << report.validation.nats
                                << std::endl;
                      if (report.best) save(model, best, about);
                    },
                .on_save =
                    [&] {
                      save(model, last, about,
                           {.step = training.state().step, .trainer = training.saved_view()});
                    },
                .should_stop = [&] { return stop.signal() != 0; }});
  stop.check();
  load(model, best, about);
}

apps::Command::Work prepare(const Flags& flags) {
  auto arm = in_name_of("--model", [&] { return value_named<Arm>(flags.model); });
  auto recipe = in_name_of("--recipe", [&] { return value_named<Recipe>(flags.recipe); });
  auto split = [&](const char* name) {
    return read_songs(flags.data + "/" + name + ".safetensors");
  };
  return [=, songs = split("train"), validation = split("valid"), test = split("test")] {
    auto threads = apps::limit_threads(flags.threads);
    std::filesystem::create_directories(flags.out_dir);
    Model model(arm, flags.dropout, {.seed = flags.seed});
    train(flags, recipe, model, songs, validation);
    std::cout << "{\"parameters\": " << parameter_count(model)
              << ", \"validation\": " << score(model, validation, validation.count()).nats
              << ", \"test\": " << score(model, test, test.count()).nats << "}" << std::endl;
  };
}

}  // namespace

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  initialize();
  std::shared_ptr<CLI::App> program =
      apps::make_program("Train a model on songs as piano rolls, and score it.", "piano_rolls");
  Flags flags;
  flags.add_to(*program);
  return apps::run_program(*program, {{program.get(), [&] { return prepare(flags); }}}, count,
                           arguments);
}
