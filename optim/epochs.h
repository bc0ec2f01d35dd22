#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "optim/trainer_state.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// An endless sequence of batches of the numbers 0 … items-1, each of which comes once an epoch.
/// Its order depends on the seed and the epoch's number alone, so all peers see the same one and
/// take their `own_rows` of each batch, and a run goes on at any place.
///
///     Epochs epochs(std::ssize(songs), 16, seed);
///     for (int64_t song : epochs.next()) …
///
/// An epoch shuffles the items and cuts them into batches. With `shorter`, which compares two
/// items, it sorts runs of `batches_sorted_together` batches before it cuts them, so that a batch
/// has items of similar length, and then shuffles the batches. PyTorch:
/// utils.data.DataLoader(shuffle=True), which cannot go on within an epoch.
class Epochs {
 public:
  /// Whether the first item is shorter than the second.
  using Shorter = std::function<bool(int64_t, int64_t)>;

  /// The number of batches in a run that is sorted by length.
  static constexpr int64_t batches_sorted_together = 50;

  /// Starts at the first epoch. Throws when there is no item, or the batch size is less than 1.
  Epochs(int64_t items, int64_t batch_size, uint64_t seed, Shorter shorter = {});

  /// Returns the next batch. The last batch of an epoch may be smaller.
  std::vector<int64_t> next();

  /// The number of the epoch, from 0.
  int64_t epoch() const { return epoch_; }
  /// The number of the epoch's batches already returned.
  int64_t position() const { return position_; }
  /// The number of batches in an epoch.
  int64_t batches() const { return std::ssize(order_); }
  /// Continues from that place. Throws when there is no such place.
  void go_to(int64_t epoch, int64_t position);

  /// Writes or reads the place as I64 [2], for a task's `visit_state`.
  void visit(SavedState& saved, const std::string& name = "batches");

 private:
  void begin_epoch(int64_t epoch);

  int64_t items_, batch_size_;
  uint64_t seed_;
  Shorter shorter_;
  int64_t epoch_ = 0, position_ = 0;
  std::vector<std::vector<int64_t>> order_;
};

/// Returns 0 … items-1 in batches of `batch_size`, the shorter items first, for scoring.
std::vector<std::vector<int64_t>> batches_by_length(int64_t items, int64_t batch_size,
                                                    const Epochs::Shorter& shorter);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
