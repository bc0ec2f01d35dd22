#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/apps/draw/attention_map.h"
#include "nn/models/encoder_decoder.h"
#include "symbols.h"

namespace seq2seq {

/// Returns a line of maps for each block, of its heads or of their mean. Row i has the weights of
/// the source's tokens from which target token i was made; the last row is the target's end.
std::vector<std::vector<apps::AttentionMap>> alignments(const shiftgrad::EncoderDecoder& model,
                                                        const std::vector<int32_t>& source,
                                                        const std::vector<int32_t>& target,
                                                        bool by_head);

/// Returns the names of the rows: the target's tokens, and its end.
std::vector<std::string> rows_of(const std::string& target, Unit unit);

}  // namespace seq2seq
