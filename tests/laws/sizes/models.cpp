// Models, and what is written and scored with them.

#include <doctest/doctest.h>

#include "nn/models/beam_search.h"
#include "nn/models/config.h"
#include "nn/models/generate.h"
#include "optim/trainer.h"
#include "tests/laws/sizes/calls.h"
#include "tests/laws/sizes/small_translator.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("sizes: of models, and of what is written and scored with them") {
  std::vector<Call> calls;
  auto with = [&](const std::string& name, auto change) {
    calls.push_back({"model " + name, [=](int64_t n) {
                       LanguageModelConfig config = small_transformer_xl();
                       change(config, n);
                       LanguageModel model = new_model(config);
                       Context context;
                       model(Tokens{{1, 3}, {0, 1, 2}}, Memory(), context);
                     }});
  };
  with("vocab_size", [](auto& config, int64_t n) { config.vocab_size = n; });
  with("d_model", [](auto& config, int64_t n) { config.d_model = n; });
  with("n_layer", [](auto& config, int64_t n) { config.n_layer = n; });
  with("n_head", [](auto& config, int64_t n) { config.n_head = n; });
  with("d_inner", [](auto& config, int64_t n) { config.d_inner = n; });
  with("max_len", [](auto& config, int64_t n) {
    config.position = TokenPosition::learned;
    config.max_len = n;
  });
  with("layer_positions", [](auto& config, int64_t n) {
    config.position = TokenPosition::learned;
    config.layer_positions = true;
    config.max_len = n;
  });
  with("window", [](auto& config, int64_t n) {
    config.block = BlockType::r_transformer_block;
    config.window = n;
  });
  with("rnn_layers", [](auto& config, int64_t n) {
    config.block = BlockType::r_transformer_block;
    config.window = 2;
    config.rnn_layers = n;
  });
  with("wrapped fields of JSON", [](auto& config, int64_t n) {
    config = config_from_json<LanguageModelConfig>(text(
        R"({"vocab_size": 7, "d_model": 4, "n_layer": )", n,
        R"(, "n_head": 2, "d_inner": 4, "mixer": {"type": "multi_head_attention", "window": [)", n,
        ", ", n, R"(], "chunk": [)", n, ",", n, "]}}"));
  });

  auto generating = [&](const std::string& name, auto change) {
    for (bool learned : {false, true})
      calls.push_back({text("generate ", name, learned ? " learned" : ""), [=](int64_t n) {
                         LanguageModel model =
                             new_model(learned ? small_transformer(6) : small_transformer_xl());
                         GenerateOptions options{.length = 10};
                         change(options, n);
                         if (options.length > 100 && options.length <= 1000000000) return;
                         generate(model, std::vector<int32_t>{1, 2, 3, 4, 5, 6, 1, 2}, options);
                       }});
  };
  generating("length", [](auto& options, int64_t n) { options.length = n; });
  generating("mem_len", [](auto& options, int64_t n) { options.mem_len = n; });
  generating("positions", [](auto& options, int64_t n) { options.positions = n; });
  generating("top_k", [](auto& options, int64_t n) { options.sampling.top_k = n; });
  generating("repetition_window", [](auto& options, int64_t n) {
    options.sampling.repetition_penalty = 2;
    options.sampling.repetition_window = n;
  });
  generating("repetition_penalty",
             [](auto& options, int64_t n) { options.sampling.repetition_penalty = double(n); });
  generating("temperature",
             [](auto& options, int64_t n) { options.sampling.temperature = double(n); });
  generating("seed", [](auto& options, int64_t n) { options.seed = static_cast<uint64_t>(n); });

  for (EvaluationMode mode :
       {EvaluationMode::memory, EvaluationMode::chunks, EvaluationMode::sliding})
    for (bool learned : {false, true}) {
      auto scoring = [&](const std::string& name, auto change) {
        calls.push_back(
            {text("evaluate ", mode, ' ', name, learned ? " learned" : ""), [=](int64_t n) {
               LanguageModel model =
                   new_model(learned ? small_transformer(80) : small_transformer_xl());
               EvaluationConfig config{.mode = mode, .tgt_len = 8, .mem_len = 4, .batch_size = 2};
               change(config, n);
               evaluate(model, text_of_200, config);
             }});
      };
      scoring("tgt_len", [](auto& config, int64_t n) { config.tgt_len = n; });
      scoring("mem_len", [](auto& config, int64_t n) { config.mem_len = n; });
      scoring("ext_len", [](auto& config, int64_t n) { config.ext_len = n; });
      scoring("all", [](auto& config, int64_t n) {
        config.tgt_len = config.mem_len = config.ext_len = n;
      });
      scoring("batch_size", [](auto& config, int64_t n) { config.batch_size = n; });
    }
  calls.push_back({"remember", [](int64_t n) { remember({}, {some({1, 2, 2})}, n); }});
  calls.push_back({"remember fed_again", [](int64_t n) {
                     remember({some({1, 2, 2})}, {some({1, 2, 2})}, 3, n);
                   }});
  calls.push_back({"model limit", [](int64_t n) {
                     LanguageModel model = new_model(small_transformer_xl());
                     auto cache = model.make_cache(n);
                     Context context;
                     model(Tokens{{1, 2}, {0, 1}}, *cache, context);
                     cache->forget_newest(n);
                   }});
  calls.push_back({"tokens of a wrong shape", [](int64_t n) {
                     LanguageModel model = new_model(small_transformer_xl());
                     auto cache = model.make_cache();
                     Context context;
                     model(Tokens{{n, n}, {0, 1}}, *cache, context);
                   }});
  check_ends(calls);
}

TEST_CASE("sizes: of an encoder-decoder, and of what it writes") {
  const Padded<Tokens> sources = pad({{1, 2}, {3}, {4, 5}, {2}});
  std::vector<Call> calls;
  auto searching = [&](const std::string& name, auto change) {
    calls.push_back({"beam_search " + name, [=](int64_t n) {
                       EncoderDecoder model = small_translator();
                       DecodingOptions options{.begin = 0, .end = 1, .max_length = 5};
                       BeamOptions beam;
                       Padded<Tokens> given = sources;
                       change(options, beam, given, n);
                       beam_search(model, given, options, beam);
                     }});
  };
  searching("width", [](auto&, auto& beam, auto&, int64_t n) { beam.width = n; });
  searching("max_length", [](auto& options, auto& beam, auto&, int64_t n) {
    beam.width = 1;
    options.max_length = n;
    options.end = 1;
    if (n > 3 && n <= 1e9) options.max_length = 3;  // more would be a result after hours
  });
  searching("length_penalty",
            [](auto&, auto& beam, auto&, int64_t n) { beam.length_penalty = double(n); });
  searching("begin", [](auto& options, auto&, auto&, int64_t n) { options.begin = as_int(n); });
  searching("sources", [](auto&, auto&, auto& given, int64_t n) { given.values.shape = {n, 2}; });
  searching("length of sources", [](auto&, auto&, auto& given, int64_t n) {
    given.values.shape = {4, n};
  });
  searching("no sources", [](auto&, auto&, auto& given, int64_t n) {
    given = {Tokens{{0, n}, {}}};
  });
  calls.push_back({"best_score", [](int64_t n) { BeamOptions().best_score({}, n); }});
  calls.push_back({"sample_targets", [=](int64_t n) {
                     Sampling sampling;
                     sampling.top_k = n;
                     sample_targets(small_translator(), sources,
                                    {.begin = 0, .end = 1, .max_length = 5}, sampling,
                                    static_cast<uint64_t>(n), static_cast<uint64_t>(n));
                   }});
  auto with = [&](const std::string& name, auto change) {
    calls.push_back({"encoder_decoder " + name, [=](int64_t n) {
                       EncoderDecoderConfig config = small_translator().config;
                       change(config, n);
                       Random random;
                       EncoderDecoder model(config, random);
                     }});
  };
  with("source_vocab_size", [](auto& config, int64_t n) { config.source_vocab_size = n; });
  with("target_vocab_size", [](auto& config, int64_t n) { config.target_vocab_size = n; });
  with("d_model", [](auto& config, int64_t n) { config.d_model = n; });
  with("n_encoder_layer", [](auto& config, int64_t n) { config.n_encoder_layer = n; });
  with("n_decoder_layer", [](auto& config, int64_t n) { config.n_decoder_layer = n; });
  with("n_head", [](auto& config, int64_t n) { config.n_head = n; });
  with("d_inner", [](auto& config, int64_t n) { config.d_inner = n; });
  with("encoder_max_len", [](auto& config, int64_t n) {
    config.encoder_position = TokenPosition::learned;
    config.encoder_max_len = n;
  });
  check_ends(calls);
}
