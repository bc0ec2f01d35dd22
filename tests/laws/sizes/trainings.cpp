// Trainings.

#include <doctest/doctest.h>

#include "optim/pair_trainer.h"
#include "optim/trainer.h"
#include "tests/laws/sizes/calls.h"
#include "tests/laws/sizes/small_translator.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("sizes: of trainings") {
  std::vector<Call> calls = {
      {"rows_at begin", [](int64_t n) { rows_at(text_of_200, {n}, 0, 2); }},
      {"rows_at first", [](int64_t n) { rows_at(text_of_200, {1}, n, 2); }},
      {"rows_at end", [](int64_t n) { rows_at(text_of_200, {1}, 0, n); }},
      {"rows_at all", [](int64_t n) { rows_at(text_of_200, {n}, n, n); }},
      {"RandomBlocks batch_size", [](int64_t n) { RandomBlocks(text_of_200, n, 3, {}).next(); }},
      {"RandomBlocks block_size", [](int64_t n) { RandomBlocks(text_of_200, 2, n, {}).next(); }},
      {"RandomBlocks loss_tokens",
       [](int64_t n) { RandomBlocks(text_of_200, 2, 3, {}, n).next(); }},
      {"RandomBlocks step", [](int64_t n) { RandomBlocks(text_of_200, 2, 3, {}, 0, n).next(); }},
      {"RandomBlocks changed",
       [](int64_t n) {
         RandomBlocks blocks(text_of_200, 2, 3, {});
         blocks.batch_size = blocks.block_size = n;
         blocks.next();
       }},
      {"ParallelStreams batch_size", [](int64_t n) { ParallelStreams(text_of_200, n, 3).next(); }},
      {"ParallelStreams block_size", [](int64_t n) { ParallelStreams(text_of_200, 2, n).next(); }},
      {"ParallelStreams ext_len",
       [](int64_t n) {
         ParallelStreams streams(text_of_200, 2, 3, n);
         streams.next();
         streams.next();
       }},
      {"ParallelStreams loss_tokens",
       [](int64_t n) { ParallelStreams(text_of_200, 2, 3, 0, n).next(); }},
      {"ParallelStreams position",
       [](int64_t n) {
         ParallelStreams streams(text_of_200, 2, 3);
         streams.position = n;
         streams.next();
       }},
      {"ParallelStreams changed",
       [](int64_t n) {
         ParallelStreams streams(text_of_200, 2, 3);
         streams.batch_size = n;
         streams.next();
       }},
      {"schedule",
       [](int64_t n) {
         for (auto type : {ScheduleType::cosine, ScheduleType::noam})
           Schedule{type, 1, 0, n, n, n}.at(n);
         Schedule{.warmup_iters = 3, .lr_decay_iters = 9}.at(n);
         Schedule{.warmup_iters = n, .lr_decay_iters = n / 2}.at(3);
       }},
      {"warmed_up",
       [](int64_t n) {
         warmed_up(n, 4, 3);
         warmed_up(5, n, 3);
         warmed_up(5, n, n);
         warmed_up(n, n, n - (n > INT64_MIN));
       }},
      {"own_rows", [](int64_t n) { own_rows(alone(), n); }},
  };
  auto training = [&](const std::string& name, auto change) {
    calls.push_back(
        {"Trainer " + name, [=](int64_t n) {
           LanguageModel model = new_model(small_transformer_xl());
           TrainerConfig config{
               .batch_size = 2, .block_size = 4, .mem_len = 4, .max_iters = 2, .warmup_iters = 1};
           change(config, n);
           Trainer trainer(model, text_of_200, {}, config);
           if (config.gradient_accumulation_steps > 100) return;
           trainer.step();
           trainer.step();
           trainer.evaluation();
         }});
  };
  training("batch_size", [](auto& config, int64_t n) { config.batch_size = n; });
  training("batch_size of blocks", [](auto& config, int64_t n) {
    config.mem_len = 0;
    config.batches = BatchType::blocks;
    config.batch_size = n;
  });
  training("block_size", [](auto& config, int64_t n) { config.block_size = n; });
  training("mem_len", [](auto& config, int64_t n) { config.mem_len = n; });
  training("ext_len", [](auto& config, int64_t n) { config.ext_len = n; });
  training("mem_len and ext_len",
           [](auto& config, int64_t n) { config.ext_len = config.mem_len = n; });
  training("loss_tokens", [](auto& config, int64_t n) { config.loss_tokens = n; });
  training("gradient_accumulation_steps",
           [](auto& config, int64_t n) { config.gradient_accumulation_steps = n; });
  training("batch_warmup_iters", [](auto& config, int64_t n) {
    config.gradient_accumulation_steps = 2;
    config.batch_warmup_iters = n;
  });
  training("both", [](auto& config, int64_t n) {
    config.gradient_accumulation_steps = config.batch_warmup_iters = n;
  });
  training("eval_iters", [](auto& config, int64_t n) { config.eval_iters = n; });
  training("eval_interval", [](auto& config, int64_t n) { config.eval_interval = n; });
  training("max_iters", [](auto& config, int64_t n) { config.max_iters = n; });
  training("warmup_iters", [](auto& config, int64_t n) { config.warmup_iters = n; });
  training("lr_decay_iters", [](auto& config, int64_t n) { config.lr_decay_iters = n; });
  training("patience", [](auto& config, int64_t n) { config.patience = n; });

  const std::vector<TokenPair> pairs{{{1, 2}, {3}}, {{2}, {4, 5}}, {{3}, {2}}};
  auto of_pairs = [&](const std::string& name, auto change) {
    calls.push_back({"PairTrainer " + name, [=](int64_t n) {
                       EncoderDecoder model = small_translator();
                       PairTrainerConfig config{.batch_size = 2, .max_iters = 2};
                       change(config, n);
                       PairTrainer trainer(model, pairs, {}, {0, 1}, config);
                       trainer.step();
                       trainer.evaluation();
                     }});
  };
  of_pairs("batch_size", [](auto& config, int64_t n) { config.batch_size = n; });
  of_pairs("eval_pairs", [](auto& config, int64_t n) { config.eval_pairs = n; });
  std::vector<Call> more = {
      {"batches_by_length", [](int64_t n) { batches_by_length(3, n, {}); }},
      {"batches_by_length items", [](int64_t n) { batches_by_length(n, 1 << 20, {}); }},
      {"evaluate pairs",
       [=](int64_t n) {
         evaluate(small_translator(), pairs, {0, 1}, n);
       }},
      {"make_batch",
       [=](int64_t n) {
         make_batch(pairs, std::vector{n}, {0, 1});
       }},
      {"rows of pairs",
       [=](int64_t n) {
         rows(make_batch(pairs, std::vector<int64_t>{0, 1}, {0, 1}), 0, n);
       }},
      {"Epochs items", [](int64_t n) { Epochs(n, 1 << 20, 1).next(); }},
      {"Epochs batch_size",
       [](int64_t n) {
         Epochs epochs(3, n, 1);
         for (int k = 0; k < 5; ++k) epochs.next();
       }},
      {"Epochs epoch",
       [](int64_t n) {
         Epochs epochs(3, 2, 1);
         epochs.go_to(n, 0);
         for (int k = 0; k < 5; ++k) epochs.next();
       }},
      {"Epochs position",
       [](int64_t n) {
         Epochs epochs(3, 2, 1);
         epochs.go_to(0, n);
         epochs.next();
       }},
  };
  calls.insert(calls.end(), more.begin(), more.end());
  check_ends(calls);
}
