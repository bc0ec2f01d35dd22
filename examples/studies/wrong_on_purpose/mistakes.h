#pragma once

// Mistakes that public code makes, each beside the line that is right. A mixer here is written in
// plain ops, as papers and blog posts write it, and is right unless it is made with a mistake.

#include <array>
#include <memory>

#include "optim/shiftgrad.h"

namespace wrong_on_purpose {

using namespace shiftgrad;

/// The mixer to be spoiled: Transformer-XL with sinusoids, labml's table of distances, Shaw's
/// clipped distances (of keys), the Music Transformer's two-way form, or AFT's full form.
enum class Form { transformer_xl, labml, shaw, two_way, aft };
constexpr auto names(Form) {
  return std::array{"Transformer-XL", "labml", "Shaw", "Music, two-way", "AFT full"};
}
static_assert(names(Form()).size() == static_cast<size_t>(Form::aft) + 1);

enum class Mistake {
  none,
  queries_against_queries,
  mask_for_scores,
  softmax_over_heads,
  softmax_over_heads_1e9,
  softmax_over_queries,
  angles,
  interleaved,
  unscaled_positions,
  unnormed_feed_forward,
  unmasked_prompt,
  table_without_memory,
  no_mask,
  unshifted_clip,
  query_of_key,
  diagonal_twice,
  maximum_of_all,
};

struct Exhibit {
  Form form;
  Mistake mistake;
  const char* name;
};

/// Every form as it should be, followed by its mistakes.
inline constexpr std::array exhibits{
    Exhibit{Form::transformer_xl, Mistake::none, "as it should be"},
    Exhibit{Form::transformer_xl, Mistake::queries_against_queries,
            "scores of queries against queries"},
    Exhibit{Form::transformer_xl, Mistake::mask_for_scores, "the mask in the place of the scores"},
    Exhibit{Form::transformer_xl, Mistake::softmax_over_heads, "a softmax over the heads"},
    Exhibit{Form::transformer_xl, Mistake::softmax_over_heads_1e9,
            "a softmax over the heads, hidden keys at -1e9"},
    Exhibit{Form::transformer_xl, Mistake::softmax_over_queries, "a softmax over the queries"},
    Exhibit{Form::transformer_xl, Mistake::angles, "angles without a sine"},
    Exhibit{Form::transformer_xl, Mistake::interleaved, "sine and cosine interleaved"},
    Exhibit{Form::transformer_xl, Mistake::unscaled_positions,
            "scores by distance without the 1/√D"},
    Exhibit{Form::transformer_xl, Mistake::unnormed_feed_forward,
            "a feed-forward net without a norm"},
    Exhibit{Form::labml, Mistake::none, "as it should be"},
    Exhibit{Form::labml, Mistake::table_without_memory, "the table cut without the memory"},
    Exhibit{Form::shaw, Mistake::none, "as it should be"},
    Exhibit{Form::shaw, Mistake::no_mask, "no mask"},
    Exhibit{Form::shaw, Mistake::unmasked_prompt, "a prompt without the causal mask"},
    Exhibit{Form::shaw, Mistake::unshifted_clip, "distances clipped, m not added"},
    Exhibit{Form::two_way, Mistake::none, "as it should be"},
    Exhibit{Form::two_way, Mistake::query_of_key, "the future asked by its keys"},
    Exhibit{Form::two_way, Mistake::diagonal_twice, "the diagonal counted twice"},
    Exhibit{Form::aft, Mistake::none, "as it should be"},
    Exhibit{Form::aft, Mistake::maximum_of_all, "a maximum over the future"},
};

struct Sizes {
  int64_t d_model = 0, n_head = 0;
  /// The longest sequence.
  int64_t max_len = 0;
  /// m, where Shaw's distances are clipped.
  int64_t max_distance = 16;
};

std::unique_ptr<Layer> make_mixer(const Exhibit& exhibit, const Sizes& sizes, Random& random);

/// Returns a new model whose mixers, or blocks, are the exhibit's, for sequences of at most
/// `max_len` tokens.
LanguageModel make_model(const Exhibit& exhibit, const LanguageModelConfig& config, int64_t max_len,
                         Random& random);

}  // namespace wrong_on_purpose
