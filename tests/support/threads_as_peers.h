#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "optim/peers/process_group.h"

namespace shiftgrad::test {

/// Threads of this process as peers, which add up in the order of the ranks.
class ThreadsAsPeers {
 public:
  /// Calls work(peers) on one thread for each peer. Throws what the first of them threw.
  static void run(int64_t size, const std::function<void(ProcessGroup&)>& work) {
    ThreadsAsPeers all(size);
    std::vector<std::exception_ptr> failures(size);
    {
      std::vector<std::jthread> threads;
      for (int64_t rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
          Peer peer(all, rank);
          try {
            work(peer);
          } catch (...) {
            failures[rank] = std::current_exception();
            all.meeting_point_.arrive_and_drop();
          }
        });
    }
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

 private:
  explicit ThreadsAsPeers(int64_t size) : gathered_(size), meeting_point_(size) {}

  class Peer : public ProcessGroup {
   public:
    Peer(ThreadsAsPeers& all, int64_t rank) : all_(all), rank_(rank) {}
    int64_t rank() const override { return rank_; }
    int64_t size() const override { return std::ssize(all_.gathered_); }

    std::vector<std::vector<Scalar>> finish_sums() override {
      std::vector<std::vector<Scalar>> sums = ProcessGroup::finish_sums();
      for (std::vector<Scalar>& values : sums) {
        auto parts = gather(std::as_bytes(std::span(values)));
        std::fill(values.begin(), values.end(), Scalar{0});
        for (const std::vector<std::byte>& part : parts) {
          REQUIRE(part.size() == values.size() * sizeof(Scalar));
          auto* mine = reinterpret_cast<const Scalar*>(part.data());
          for (size_t n = 0; n < values.size(); ++n) values[n] += mine[n];
        }
      }
      return sums;
    }

    std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override {
      all_.gathered_[rank_].assign(mine.begin(), mine.end());
      all_.meeting_point_.arrive_and_wait();
      auto result = all_.gathered_;
      all_.meeting_point_.arrive_and_wait();
      return result;
    }

   private:
    ThreadsAsPeers& all_;
    int64_t rank_;
  };

  std::vector<std::vector<std::byte>> gathered_;
  std::barrier<> meeting_point_;
};

}  // namespace shiftgrad::test
