#include "nn/models/blocks.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/machine/simd.h"
#include "ops/arithmetic.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Blocks::Blocks(const BlocksConfig& given, Init init, const MixerMaker& own_mixer, const char* owner)
    : config(given) {
  name = owner;
  require(own_mixer || !config.own_mixer, name,
          ": own_mixer true, which needs the maker of that mixer");
  config.own_mixer = own_mixer != nullptr;
  check_fields(owner, config);
  for (int64_t n = 0; n < config.n_layer; ++n) layers.push_back(build_block(init, own_mixer));
  if (config.block == BlockType::transformer_block && config.norm_first) shrink_projections(init);
  if (config.tie_position_biases) tie_position_biases();
  if (config.final_norm) norm = LayerNorm(config.d_model);
}

std::unique_ptr<Block> Blocks::build_block(Init init, const MixerMaker& own_mixer) const {
  if (config.block == BlockType::r_transformer_block) {
    require(!own_mixer, name, ": a mixer of one's own in an r_transformer_block");
    require(!config.cross_attention, name, ": cross_attention in an r_transformer_block");
    return std::make_unique<RTransformerBlock>(shared_fields<RTransformerBlockConfig>(config),
                                               Width{config.d_model, config.n_head}, init);
  }
  auto block = shared_fields<TransformerBlockConfig>(config);
  Width width = width_for(config.mixer, config.d_model, config.n_head);
  std::unique_ptr<Layer> mixer = own_mixer ? own_mixer(*init.random) : nullptr;
  require(!own_mixer || mixer, name, ": own_mixer returned null, expected a mixer");
  if (!config.cross_attention)
    return std::make_unique<TransformerBlock>(block, width, init, std::move(mixer));
  EncoderDecoderBlockConfig cross{block, config.n_head, config.attention_dropout};
  return std::make_unique<EncoderDecoderBlock>(cross, width, init, std::move(mixer));
}

void Blocks::shrink_projections(Init init) {
  if (init.unfilled) return;
  for (const auto& block : layers) {
    auto additions = static_cast<double>(block->parts.size() * layers.size());
    auto factor = static_cast<Scalar>(1 / std::sqrt(additions));
    for (const Block::Part& part : block->parts)
      for (const Tensor& weight : part.function->residual_projections())
        simd::axpby(factor, weight.data(), 0, weight.mutable_data(), weight.count());
  }
}

void Blocks::tie_position_biases() {
  for (auto [own_name, shared] : {std::pair{"mixer.content_bias", &content_bias},
                                  std::pair{"mixer.position_bias", &position_bias}})
    for (const auto& block : layers) {
      std::vector<Parameter> own = parameters(*block);
      auto found = std::ranges::find(own, own_name, &Parameter::name);
      require(found != own.end(), name, ": tie_position_biases for blocks without ", own_name,
              ", expected sinusoid transformer_xl_attention with both biases");
      if (!shared->defined()) *shared = found->value;
      *parameter_places(*block)[found - own.begin()] = *shared;
    }
}

Tensor Blocks::with_positions(const Tensor& x, size_t block, int64_t first) const {
  if (block == 0 || !layer_positions.defined()) return x;
  Tensor table = select(layer_positions, 0, static_cast<int64_t>(block) - 1);  // [max_len, C]
  return x + slice(table, 0, first, first + x.size(1));
}

Tensor Blocks::run(const Tensor& input, const Memory& memory, Caches* caches, Context& context,
                   std::vector<Tensor>* inputs) const {
  check_input(name, input, {}, config.d_model);
  int64_t first = caches ? caches->position : memory_length(memory);
  Tensor x = input;
  for (size_t n = 0; n < layers.size(); ++n) {
    if (inputs) inputs->push_back(x);
    Past past;
    if (caches) past = *caches->parts[n];
    if (!memory.empty()) past = with_positions(memory[n], n, 0);
    x = layers[n]->forward(with_positions(x, n, first), past, context);
  }
  if (caches) caches->position += input.size(1);
  return norm.weight.defined() ? norm(x) : x;
}

BlocksOutput Blocks::operator()(const Tensor& x, const Memory& memory, Context& context) const {
  BlocksOutput result;
  result.output = run(x, memory, nullptr, context, &result.block_inputs);
  return result;
}

Tensor Blocks::operator()(const Tensor& x, Context& context) const {
  return run(x, {}, nullptr, context, nullptr);
}

Tensor Blocks::operator()(const Tensor& x, Cache& cache, Context& context) const {
  return advance(cache, x, [&](Cache& next) { return step(x, next, context); });
}

Tensor Blocks::step(const Tensor& x, Cache& cache, Context& context) const {
  return run(x, {}, &dynamic_cast<Caches&>(cache), context, nullptr);
}

std::unique_ptr<Cache> Blocks::make_cache(int64_t limit) const {
  auto caches = new_cache<Caches>();
  for (const auto& block : layers) caches->parts.push_back(block->make_cache(limit));
  return caches;
}

int64_t Blocks::memory_length(const Memory& memory) const {
  if (memory.empty()) return 0;
  require(memory.size() == layers.size(), name, ": memory for ", memory.size(), " blocks of ",
          layers.size());
  for (const Tensor& each : memory)
    require(each.shape() == memory[0].shape() && each.rank() == 3, name, ": memories of ",
            memory[0].shape(), " and ", each.shape(), ", expected one [B, M, C] for all blocks");
  return memory[0].size(1);
}

Limits Blocks::limits() const {
  Limits all;
  for (const auto& block : layers) all = all.with(block->limits());
  return all;
}

bool Blocks::sees_ahead() const {
  return std::ranges::any_of(layers, [](const auto& block) { return block->sees_ahead(); });
}

void Blocks::visit(Visitor& visitor) const {
  visitor("layer_positions", layer_positions);
  visitor("content_bias", content_bias);
  visitor("position_bias", position_bias);
  visitor("blocks", layers);
  visitor("final_norm", norm);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
