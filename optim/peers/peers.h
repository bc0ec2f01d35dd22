#pragma once

// Data parallelism: processes, the peers, that hold the same weights. Each takes its rows of every
// batch, the gradients are summed over all, and so every peer makes the same update.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How a peer talks to the others. All make the same calls in the same order, but for the last two.
class Peers {
 public:
  virtual ~Peers() = default;
  /// This one's number, and that of all.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Begins to add the values up over all peers, element by element, while the caller goes on.
  virtual void start_sum(std::vector<Scalar> values) = 0;
  /// Waits for the sums and returns them in the order in which they were begun: the same bits to
  /// all peers, and in every run of so many.
  virtual std::vector<std::vector<Scalar>> finish_sums() = 0;
  /// What each peer has, by rank: less than 2 GiB in all.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) = 0;

  /// For a peer that fails: waits some seconds for the others to fail too, as at the same bad
  /// input, and returns whether this one is to say why.
  virtual bool speaks_for_failed() = 0;
  /// Ends the peers that wait for this one, which failed, with the status.
  virtual void end_waiting(int status) = 0;
};

/// No other peers: a sum is what was given.
class Alone : public Peers {
 public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  void start_sum(std::vector<Scalar> values) override;
  std::vector<std::vector<Scalar>> finish_sums() override;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override;
  bool speaks_for_failed() override { return true; }
  void end_waiting(int) override {}

 private:
  std::vector<std::vector<Scalar>> sums_;
};

/// This thread's, for whoever has no peers.
Peers& alone();

/// The rows begin … end-1.
struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

/// The peer's share of so many rows. Shares follow each other by rank, and differ by one row at
/// most.
Rows own_rows(const Peers& peers, int64_t rows);

/// The sums of each value over all peers, added in the order of the ranks.
std::vector<double> sums(Peers& peers, const std::vector<double>& values);

/// The peers' parts of a tensor, none of them empty, joined along the first axis in the order of
/// the ranks.
Tensor gather_rows(Peers& peers, const Tensor& part);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
