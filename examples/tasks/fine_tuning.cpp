// Fine-tuning on a small text, with one learning rate or with rates that grow from block to block,
// by the last weights and by the mean of those of the second half. Each way takes its best rate by
// a validation part. `fine_tuning LARGE SMALL [SEED [STEPS_LARGE [STEPS_SMALL]]]`

#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "program.h"

using namespace shiftgrad;

struct Model : LanguageModel {
  explicit Model(Random random)
      : LanguageModel({.vocab_size = 256,
                       .d_model = 64,
                       .n_layer = 3,
                       .n_head = 4,
                       .d_inner = 256,
                       .mixer = TransformerXLAttentionConfig{}},
                      random) {}
};

/// Copies the weights of one model to another of its kind.
void copy(const Model& from, const Model& to) { load_state_dict(to, state_dict(from), "copy"); }

/// Moves each weight of `mean`, the mean of so many earlier models, to the mean with one more.
void add_to_mean(const Model& mean, int64_t earlier, const Model& model) {
  std::vector<Parameter> means = parameters(mean), values = parameters(model);
  for (size_t n = 0; n < means.size(); ++n)
    for (int64_t i = 0; i < values[n].value.count(); ++i) {
      Scalar& element = means[n].value.mutable_data()[i];
      element += (values[n].value.data()[i] - element) / static_cast<Scalar>(earlier + 1);
    }
}

double bits(const Model& model, std::span<const int32_t> text) {
  return evaluate(model, text, {.tgt_len = 64, .mem_len = 64}).bits();
}

/// Bits per byte of the best rate so far: of the validation part, and of the test part.
struct Best {
  double validation = std::numeric_limits<double>::infinity(), test = 0, learning_rate = 0;
};

void fine_tuning(const Arguments& arguments) {
  std::vector<int32_t> large = byte_tokens(read_file(arguments.text(0, "LARGE"))),
                       small = byte_tokens(read_file(arguments.text(1, "SMALL")));
  std::span<const int32_t> all = small, train = all.first(all.size() * 6 / 10),
                           validation = all.subspan(train.size(), all.size() * 2 / 10),
                           test = all.subspan(train.size() + validation.size());
  auto seed = static_cast<uint64_t>(arguments.number(2, "SEED", 1));
  TrainerConfig config{.batch_size = 8,
                       .block_size = 64,
                       .mem_len = 64,
                       .max_iters = arguments.number(3, "STEPS_LARGE", 2000),
                       .learning_rate = 2e-3,
                       .eval_interval = 1'000'000,
                       .eval_iters = 1,
                       .seed = seed};
  Model begin({.seed = seed}), learned({.seed = seed});
  Trainer(learned, large, large, config).run();
  std::cout << "without fine-tuning: " << bits(learned, test) << std::endl;

  config.max_iters = arguments.number(4, "STEPS_SMALL", 100);
  config.warmup_iters = config.max_iters / 10;
  struct Way {
    const char* name;
    const Model& from;
    std::string lr_scale;
  };
  const std::string growing = "embedding.*=0.057,blocks.0.*=0.15,blocks.1.*=0.38";
  for (const Way& way : {Way{"from nothing", begin, ""}, Way{"one rate", learned, ""},
                         Way{"growing rates", learned, growing}})
    for (ScheduleType schedule : {ScheduleType::cosine, ScheduleType::constant}) {
      Best last, averaged;
      for (double rate : {5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 16e-3}) {
        config.schedule = schedule;
        config.learning_rate = rate;
        config.lr_scale = way.lr_scale;
        Model model({.seed = seed}), mean({.seed = seed});
        copy(way.from, model);
        Trainer trainer(model, train, train, config);
        trainer.run({.on_step = [&](const StepReport& report) {
          int64_t earlier = report.step - 1 - config.max_iters / 2;
          if (earlier >= 0) add_to_mean(mean, earlier, model);
        }});
        for (auto& [best, of] : {std::pair<Best&, Model&>(last, model), {averaged, mean}})
          if (double score = bits(of, validation); score < best.validation)
            best = {score, bits(of, test), rate};
      }
      std::cout << way.name << ", " << schedule << ": last " << last.test << " (rate "
                << last.learning_rate << "), mean " << averaged.test << " (rate "
                << averaged.learning_rate << ")" << std::endl;
    }
}

int main(int count, char** words) { return run_program("fine_tuning", count, words, fine_tuning); }
