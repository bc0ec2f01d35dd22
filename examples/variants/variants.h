#pragma once

// Mechanisms of published models as somebody outside this project would write them, each in a file
// of its own, in the letters of its paper. nn/README.md lists what they are made of.

#include <shiftgrad/shiftgrad.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace variants {

using namespace shiftgrad;

/// Forgetting attention, FoX (Lin et al. 2025).
std::unique_ptr<Layer> fox(int64_t d_model, int64_t n_head, Random& random);
/// Attention with a sink, over the last `window` tokens (gpt-oss, OpenAI 2025).
std::unique_ptr<Layer> sink(int64_t d_model, int64_t n_head, int64_t window, Random& random);
/// Attention whose scores are capped (Gemma 2, Riviere et al. 2024).
std::unique_ptr<Layer> soft_cap(int64_t d_model, int64_t n_head, double cap, Random& random);
/// Grouped-query attention (Ainslie et al. 2023).
std::unique_ptr<Layer> grouped(int64_t d_model, int64_t n_head, int64_t groups, Random& random);
/// Functional interpolation of positions, FIRE (Li et al. 2024). L starts at `threshold`.
std::unique_ptr<Layer> fire(int64_t d_model, int64_t n_head, int64_t hidden, double threshold,
                            Random& random);
/// Contextual position encoding, CoPE (Golovneva et al. 2024), with that many positions.
std::unique_ptr<Layer> cope(int64_t d_model, int64_t n_head, int64_t positions, Random& random);
/// Differential attention (Ye et al. 2025). Each of the heads has two maps.
std::unique_ptr<Layer> differential(int64_t d_model, int64_t n_head, Random& random);
/// Attention to the first tokens and to the last `window`, StreamingLLM (Xiao et al. 2024).
std::unique_ptr<Layer> streaming(int64_t d_model, int64_t n_head, int64_t first, int64_t window,
                                 Random& random);
/// Gated linear attention (Yang et al. 2024), by chunks of tokens.
std::unique_ptr<Layer> gated_linear(int64_t d_model, int64_t n_head, int64_t chunk, Random& random);
/// Retention (Sun et al. 2023) without its rotation: the same with gates that no token changes.
std::unique_ptr<Layer> retention(int64_t d_model, int64_t n_head, int64_t chunk, Random& random);
/// Attention in windows of an image, `rows` by `columns`, with Swin's table (Liu et al. 2021).
std::unique_ptr<Layer> swin(int64_t d_model, int64_t n_head, int64_t rows, int64_t columns,
                            bool causal, Random& random);

/// A variant as a program knows it.
struct Variant {
  /// Its name, and what distinguishes it.
  const char *name, *summary;
  /// Makes it with the sizes that suit blocks of 128 characters.
  std::function<std::unique_ptr<Layer>(int64_t d_model, int64_t n_head, Random&)> make;
};

/// Returns all of them.
const std::vector<Variant>& all();

}  // namespace variants
