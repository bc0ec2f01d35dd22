#pragma once

#include <string>

#include "tests/fuzz/mutator.h"

namespace fuzz {

/// The bytes of a checkpoint of a tiny model, of a random kind with random options. Trained on the
/// file "text", as it says, whose characters are those of `known_text`.
std::string language_model_seed(Choices& choices);
constexpr const char* known_text = "ab\nba\nabba\nbaab\naabb\nab ba\n";

/// A checkpoint of an encoder-decoder, trained on the file "pairs".
std::string encoder_decoder_seed(Choices& choices);
constexpr const char* known_pairs = "ab\tba\nba\tab\nabb\tbba\na b\tb a\n";

/// One of the two.
std::string checkpoint_seed(Choices& choices);

}  // namespace fuzz
