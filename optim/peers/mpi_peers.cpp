// Peers on MPI. A separate thread makes the sums, one after the other in the order in which they
// were begun, so they run in parallel with the backward pass.

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "optim/peers/launched_peers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

class MpiPeers : public ProcessGroup {
 public:
  MpiPeers() {
    int threads = MPI_THREAD_SINGLE, rank = 0, size = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
    require(threads == MPI_THREAD_MULTIPLE, "MPI: cannot be used by several threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = rank;
    size_ = size;
    MPI_Comm_dup(MPI_COMM_WORLD, &for_sums_);
    MPI_Comm_dup(MPI_COMM_WORLD, &for_failures_);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  ~MpiPeers() override {
    thread_ = {};  // when the sums that were begun are made
    MPI_Finalize();
  }

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }

  void start_sum(std::vector<Scalar> values) override {
    std::lock_guard lock(mutex_);
    sums_.push_back(std::move(values));
    changed_.notify_all();
  }

  std::vector<std::vector<Scalar>> finish_sums() override {
    std::unique_lock lock(mutex_);
    waited_for_ = true;
    changed_.wait(lock, [this] { return finished_ == sums_.size(); });
    waited_for_ = false;
    std::vector<std::vector<Scalar>> result(std::move_iterator(sums_.begin()),
                                            std::move_iterator(sums_.end()));
    sums_.clear();
    finished_ = 0;
    return result;
  }

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override {
    auto size = static_cast<int64_t>(mine.size());
    std::vector<int64_t> sizes(size_);
    MPI_Allgather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    require(total <= INT_MAX, "MPI: ", total, " bytes to be gathered, expected less than 2 GiB");
    std::vector<int> counts(sizes.begin(), sizes.end()), begins(size_, 0);
    std::partial_sum(counts.begin(), counts.end() - 1, begins.begin() + 1);
    std::vector<std::byte> joined(total);
    MPI_Allgatherv(mine.data(), static_cast<int>(size), MPI_BYTE, joined.data(), counts.data(),
                   begins.data(), MPI_BYTE, MPI_COMM_WORLD);
    std::vector<std::vector<std::byte>> all;
    for (int64_t peer = 0; peer < size_; ++peer) {
      auto first = joined.begin() + begins[peer];
      all.emplace_back(first, first + counts[peer]);
    }
    return all;
  }

  bool speaks_for_failed() override {
    // Peers give up one after the other, so that one line is printed even when only some fail.
    auto patience = std::chrono::milliseconds(5000 + 5000 * rank_ / size_);
    auto deadline = std::chrono::steady_clock::now() + patience;
    MPI_Request request{};
    MPI_Ibarrier(for_failures_, &request);
    for (int all = 0; std::chrono::steady_clock::now() < deadline;) {
      MPI_Test(&request, &all, MPI_STATUS_IGNORE);
      if (all) {
        all_failed_ = true;
        return rank_ == 0;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }

  void end_waiting(int status) override {
    std::lock_guard lock(mutex_);
    if (!all_failed_ || finished_ < sums_.size()) MPI_Abort(MPI_COMM_WORLD, status);
  }

 private:
  /// Sums the pieces over all peers. Every peer receives its share of each piece from all, adds it
  /// up in the order of the ranks, and sends the sum to all. N peers send and receive 2 (N - 1) / N
  /// of the bytes, which is the least possible (Patarasuk and Yuan 2009), and all pieces are in
  /// transit at once. Messages are short enough for MPI to send them without permission. The
  /// permission for a long message would queue behind other messages in the same direction, until
  /// traffic flows in only one direction at a time.
  void add_up(std::vector<Scalar>& values) {
    constexpr int64_t longest = (int64_t{32} << 10) / sizeof(Scalar);
    auto count = std::ssize(values);
    int64_t pieces = std::max<int64_t>(1, divide_up(count, size_ * longest));
    auto share = static_cast<int>(divide_up(count, size_ * pieces));
    values.resize(static_cast<size_t>(pieces * size_ * share));
    std::vector<Scalar> received(values.size());
    std::vector<MPI_Request> requests(static_cast<size_t>(pieces));
    auto piece = [&](std::vector<Scalar>& all, size_t n) { return all.data() + n * size_ * share; };

    for (size_t n = 0; n < requests.size(); ++n)
      MPI_Ialltoall(piece(values, n), share, scalar, piece(received, n), share, scalar, for_sums_,
                    &requests[n]);
    for (size_t n = 0; n < requests.size(); ++n) {
      wait(requests[n]);
      Scalar* sum = piece(values, n) + rank_ * share;
      std::copy_n(piece(received, n), share, sum);
      for (int64_t peer = 1; peer < size_; ++peer)
        std::transform(sum, sum + share, piece(received, n) + peer * share, sum, std::plus());
      MPI_Iallgather(MPI_IN_PLACE, share, scalar, piece(values, n), share, scalar, for_sums_,
                     &requests[n]);
    }
    for (MPI_Request& request : requests) wait(request);
    values.resize(static_cast<size_t>(count));
  }

  /// Waits for messages. While the caller computes, it sleeps between two looks at them, to leave
  /// the core to the caller. Once the caller waits, the core is free.
  void wait(MPI_Request& request) {
    for (int done = 0; !done;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return;
      if (waited_for_)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  /// Main function of the thread.
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return finished_ < sums_.size(); })) {
      std::vector<Scalar>& values = sums_[finished_];
      lock.unlock();
      add_up(values);
      lock.lock();
      ++finished_;
      changed_.notify_all();
    }
  }

  const MPI_Datatype scalar = sizeof(Scalar) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
  int64_t rank_ = 0, size_ = 1;
  /// Each communicator is called from one thread at a time, and so in the same order on all peers.
  MPI_Comm for_sums_{}, for_failures_{};
  bool all_failed_ = false;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// Elements keep their addresses while others are added.
  std::deque<std::vector<Scalar>> sums_;
  size_t finished_ = 0;
  std::atomic<bool> waited_for_ = false;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<ProcessGroup> launched_peers() {
  // Environment variables that Open MPI's mpirun sets, and that others set by the process
  // management interface.
  bool launched = std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_SIZE");
  if (!launched) return std::make_unique<ProcessGroup>();
  return std::make_unique<MpiPeers>();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
