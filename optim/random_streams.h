#pragma once

#include <cstdint>

namespace shiftgrad {

/// The streams of random numbers that a run draws from its one seed, as Random{seed, stream}. The
/// streams are independent, so a change in what one is used for leaves the others as they are.
/// Besides these, Epochs orders epoch n by stream n, which the first epochs share with the
/// weights and with dropout, and `generate` draws continuation n from stream n of a seed of its
/// own.
namespace random_stream {

/// The values with which training starts.
inline constexpr uint64_t weights = 0;
/// The places of blocks in the text.
inline constexpr uint64_t batches = 1;
/// The elements that dropout drops.
inline constexpr uint64_t dropout = 2;
/// What auxiliary losses draw.
inline constexpr uint64_t auxiliary_losses = 3;

}  // namespace random_stream

}  // namespace shiftgrad
