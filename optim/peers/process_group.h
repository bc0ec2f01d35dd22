#pragma once

// Data parallelism: peers are processes that hold the same weights. Each takes its rows of every
// batch, and the gradients are summed over all peers, so every peer makes the same update.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/interval.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The processes that train together, the peers, as one of them sees them: here it is alone, and a
/// sum is what was passed. All peers make the same calls in the same order, except for the last two
/// functions.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  /// This peer's number, from 0, and the number of all peers.
  virtual int64_t rank() const { return 0; }
  /// The number of all peers.
  virtual int64_t size() const { return 1; }

  /// Begins to sum the values over all peers, element by element, while the caller continues.
  virtual void start_sum(std::vector<Scalar> values) { sums_.push_back(std::move(values)); }
  /// Waits for the sums and returns them in the order in which they were begun. All peers get the
  /// same bits, and so does every run with this number of peers.
  virtual std::vector<std::vector<Scalar>> finish_sums() { return std::exchange(sums_, {}); }
  /// Returns what each peer passed, by rank. It must be less than 2 GiB in all.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) {
    return {{mine.begin(), mine.end()}};
  }

  /// Returns whether a peer that fails should report why. It first waits some seconds for the
  /// others to fail too, as they do on the same bad input.
  virtual bool speaks_for_failed() { return true; }
  /// Ends, with this status, the peers that wait for this one, which failed.
  virtual void end_waiting(int) {}

 private:
  std::vector<std::vector<Scalar>> sums_;
};

/// Returns the only peer, for programs without others. Each thread has sums of its own there.
ProcessGroup& alone();

/// Returns the peer's share of `rows` rows. Shares follow each other by rank, and differ by at most
/// one row.
Interval own_rows(const ProcessGroup& peers, int64_t rows);

/// What all peers throw together when they leave work that one of them was asked to leave.
struct WorkLeft {};

/// Throws WorkLeft on all peers if one of them is asked to leave the work that they share. A peer
/// calls it after each piece of its work, and `sums` after the last one; peers may have different
/// numbers of pieces.
void leave_if_any(ProcessGroup& peers, bool is_asked);

/// Returns the sum of each value over all peers, added in the order of the ranks. It waits for
/// peers that are still between pieces of work, and throws WorkLeft with them.
std::vector<double> sums(ProcessGroup& peers, const std::vector<double>& values);

/// Returns the peers' parts of a tensor, joined along the first axis in the order of the ranks.
Tensor gather_rows(ProcessGroup& peers, const Tensor& part);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
