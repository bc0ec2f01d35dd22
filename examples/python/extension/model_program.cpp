#include "model_program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/errors.h"
#include "core/io/json.h"
#include "described.h"
#include "module_program.h"
#include "nn/caches.h"
#include "nn/models/config.h"
#include "nn/models/language_model.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the tokens [B, T] in a tensor. Throws, in the model's name, for one that it lacks.
Tokens tokens_in(const Tensor& tensor, const char* name, int64_t vocab_size,
                 const std::string& model) {
  require(tensor.defined() && tensor.rank() == 2, model, ": ", name, ' ',
          tensor.defined() ? text(tensor.shape()) : "is missing", ", expected [B, T]");
  Tokens tokens{tensor.shape(), {}};
  for (Scalar value : tensor.values()) {
    require(0 <= value && value < static_cast<Scalar>(vocab_size), model, ": token ", value, " in ",
            name, ", expected 0 to ", vocab_size - 1);
    tokens.values.push_back(static_cast<int32_t>(value));
  }
  return tokens;
}

bool take_flag(std::string& options, const char* key) {
  nlohmann::json object = parse_json("the config", options, 4);
  bool flag = object.value(key, false);
  object.erase(key);
  options = object.dump();
  return flag;
}

template <class Config>
Config model_config(const std::string& options) {
  return std::get<Config>(known_config<AnyConfig>(Config::type, options));
}

class LanguageModelProgram : public ModuleProgram<LanguageModelConfig> {
 public:
  LanguageModelProgram(const std::string& options, bool returns_hidden, bool returns_memory,
                       Init init)
      : ModuleProgram(model_config<LanguageModelConfig>(options), {"tokens", "memory", "context"},
                      init),
        returns_hidden_(returns_hidden),
        returns_memory_(returns_memory) {}

  Tensor run(std::span<const Tensor> tensors, Context& context) override {
    auto guard = lend(tensors);
    require(!tensors[2].defined(), name_, ": takes no context");
    Tokens tokens = tokens_in(tensors[0]);
    const LanguageModelConfig& config = module_.config;
    int64_t B = tokens.shape[0], T = tokens.shape[1], V = config.vocab_size;
    Memory memory = memory_in(tensors[1], B);
    int64_t behind = (returns_hidden_ ? 1 : 0) + (returns_memory_ ? config.n_layer : 0);
    if (tokens.values.empty()) return Tensor::empty({B, T, V + behind * config.d_model});
    auto [logits, inputs, features] = module_(tokens, memory, context);
    if (behind == 0) return logits;
    std::vector<Tensor> parts{logits};
    if (returns_hidden_) parts.push_back(features);
    if (returns_memory_)
      for (const Tensor& input : inputs) parts.push_back(input.detach());
    return concat(parts, 2);  // [B, T, V (+ C) (+ L·C)]
  }

  std::unique_ptr<Cache> make_cache(int64_t limit) const override {
    return module_.make_cache(limit);
  }

  Tensor step(std::span<const Tensor> tensors, Cache& cache, Context& context) override {
    auto guard = lend(tensors);
    Tokens tokens = tokens_in(tensors[0]);
    require(!tokens.values.empty(), name_, ": tokens ", tokens.shape, ", expected at least one");
    return module_(tokens, cache, context);
  }

  std::vector<std::vector<int32_t>> generate(std::span<const Tensor> tensors, Context&,
                                             const Generation& generation) override {
    auto guard = lend(tensors);
    std::vector<std::vector<int32_t>> texts;
    Tokens prompts = tokens_in(tensors[0]);
    for (int64_t b = 0; b < prompts.shape[0]; ++b)
      texts.push_back(shiftgrad::generate(module_, rows(prompts, b, b + 1).values, generation.text,
                                          [&](int32_t) { generation.on_token(); }));
    return texts;
  }

 private:
  Tokens tokens_in(const Tensor& tensor) const {
    return shiftgrad::tokens_in(tensor, "tokens", module_.config.vocab_size, name_);
  }

  Memory memory_in(const Tensor& stacked, int64_t B) const {
    if (!stacked.defined()) return {};
    int64_t L = module_.config.n_layer, C = module_.config.d_model;
    bool fits =
        stacked.rank() == 4 && stacked.size(0) == L && stacked.size(1) == B && stacked.size(3) == C;
    require(fits, name_, ": memory ", stacked.shape(), ", expected [", L, ", ", B, ", M, ", C, ']');
    Memory memory;
    for (int64_t n = 0; n < L && stacked.size(2) > 0; ++n) memory.push_back(select(stacked, 0, n));
    return memory;
  }

  bool returns_hidden_, returns_memory_;
};

/// The cache of targets in progress, from their first step on.
struct TargetCache : CacheOf<TargetCache> {
  CacheValue decoder{};

  void forget_newest(int64_t) override { fail("encoder_decoder: a target forgets no token"); }
  void reorder(const std::vector<int64_t>& members) override {
    if (decoder) decoder->reorder(members);
  }
};

class EncoderDecoderProgram : public ModuleProgram<EncoderDecoderConfig> {
 public:
  EncoderDecoderProgram(const std::string& options, Init init)
      : ModuleProgram(model_config<EncoderDecoderConfig>(options), {"target", "memory", "source"},
                      init) {}

  Tensor run(std::span<const Tensor> tensors, Context& context) override {
    auto guard = lend(tensors);
    require(!tensors[1].defined(), name_, ": takes no memory");
    Tokens targets = targets_in(tensors);
    Padded<Tokens> sources = sources_in(tensors, context);
    if (targets.values.empty())
      return Tensor::empty({targets.shape[0], targets.shape[1], module_.config.target_vocab_size});
    return module_(sources, {targets}, context);
  }

  std::unique_ptr<Cache> make_cache(int64_t limit) const override {
    require(limit == unlimited, name_, ": a limit of ", limit, ", expected none");
    return std::make_unique<TargetCache>();
  }

  Tensor step(std::span<const Tensor> tensors, Cache& cache, Context& context) override {
    auto guard = lend(tensors);
    auto& decoder = dynamic_cast<TargetCache&>(cache).decoder;
    Tokens targets = targets_in(tensors);
    require(!targets.values.empty(), name_, ": target ", targets.shape, ", expected at least one");
    Padded<Tokens> sources = sources_in(tensors, context);
    require(targets.shape[0] == sources.values.shape[0], name_, ": ", targets.shape[0],
            " targets for ", sources.values.shape[0], " sources");
    if (!decoder) decoder = module_.make_cache(module_.encode(sources, context));
    return module_.decode(targets, *decoder, context);
  }

  std::vector<std::vector<int32_t>> generate(std::span<const Tensor> tensors, Context& context,
                                             const Generation& generation) override {
    auto guard = lend(tensors);
    Padded<Tokens> sources = sources_in(tensors, context);
    check(generation.text.sampling);
    DecodingOptions options = generation.targets;
    options.max_length = std::min(options.max_length, module_.longest_target() - 1);
    std::vector<std::vector<int32_t>> targets;
    if (generation.text.sampling.temperature > 0)
      for (const Hypothesis& drawn : sample_targets(module_, sources, options,
                                                    generation.text.sampling, generation.text.seed))
        targets.push_back(drawn.tokens);
    else
      for (const auto& best : beam_search(module_, sources, options, generation.beam))
        targets.push_back(best.front().tokens);
    return targets;
  }

 private:
  Tokens targets_in(std::span<const Tensor> tensors) const {
    return tokens_in(tensors[0], "target", module_.config.target_vocab_size, name_);
  }

  /// Returns the sources. Their padding leaves the context, since it is not the targets'.
  Padded<Tokens> sources_in(std::span<const Tensor> tensors, Context& context) const {
    Tokens tokens = tokens_in(tensors[2], "source", module_.config.source_vocab_size, name_);
    require(tokens.shape[1] > 0, name_, ": source ", tokens.shape, ", expected at least one token");
    auto padding = std::exchange(context.key_padding_mask, nullptr);
    require(!padding || padding->shape == tokens.shape, name_, ": key_padding_mask ",
            padding ? text(padding->shape) : "", ", expected ", tokens.shape);
    return {std::move(tokens), std::move(padding)};
  }
};

}  // namespace

std::unique_ptr<Program> make_model_program(const std::string& name, const std::string& config,
                                            Init init) {
  if (name == LanguageModelConfig::type) {
    std::string options = config;
    bool returns_hidden = take_flag(options, "return_hidden");
    bool returns_memory = take_flag(options, "return_memory");
    return std::make_unique<LanguageModelProgram>(options, returns_hidden, returns_memory, init);
  }
  if (name == EncoderDecoderConfig::type)
    return std::make_unique<EncoderDecoderProgram>(config, init);
  return nullptr;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
