#include "optim/peers/process_group.h"

#include <doctest/doctest.h>

#include "ops/shape.h"
#include "tests/support/random_values.h"
#include "tests/support/threads_as_peers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("peers: shares follow each other and differ by a row at most") {
  for (int64_t size : {1, 2, 3, 4, 7})
    for (int64_t count = 0; count < 20; ++count) {
      std::vector<Interval> shares(size);
      ThreadsAsPeers::run(
          size, [&](ProcessGroup& peers) { shares[peers.rank()] = own_rows(peers, count); });
      int64_t next = 0;
      for (const Interval& share : shares) {
        CHECK(share.begin == next);
        CHECK((share.size() == count / size || share.size() == (count + size - 1) / size));
        next = share.end;
      }
      CHECK(next == count);
    }
}

TEST_CASE("peers: alone, everything is one's own") {
  ProcessGroup& peers = alone();
  CHECK(peers.rank() == 0);
  CHECK(peers.size() == 1);
  peers.start_sum({1, 2});
  peers.start_sum({});
  peers.start_sum({3});
  CHECK(peers.finish_sums() == std::vector<std::vector<Scalar>>{{1, 2}, {}, {3}});
  CHECK(peers.finish_sums().empty());
  CHECK(sums(peers, {0.1, -0.0}) == std::vector{0.1, -0.0});
  CHECK(peers.speaks_for_failed());
}

TEST_CASE("peers: each thread is alone by itself, until it ends") {
  std::thread([] { alone().start_sum({1}); }).join();
  CHECK(alone().finish_sums().empty());
}

TEST_CASE("peers: sums are added in the order of the ranks") {
  std::vector<double> terms{0.1, 1e20, -1e20};
  ThreadsAsPeers::run(3, [&](ProcessGroup& peers) {
    double mine = terms[peers.rank()];
    CHECK(sums(peers, {mine, 1}) == std::vector{0.1 + 1e20 - 1e20, 3.0});
  });
}

TEST_CASE("peers: all leave work of several pieces together, those too that have done theirs") {
  for (int64_t size : {1, 2, 4})
    for (int64_t asked : {-1, 0, 2, 5}) {
      CAPTURE(size);
      CAPTURE(asked);
      std::vector<int64_t> pieces(size);
      std::vector<double> totals(size);
      ThreadsAsPeers::run(size, [&](ProcessGroup& peers) {
        // Each has two pieces more than the one before, and the last one is asked.
        int64_t& done = pieces[peers.rank()];
        bool is_last = peers.rank() + 1 == size;
        try {
          for (; done < 2 * peers.rank(); ++done) leave_if_any(peers, is_last && done == asked);
          totals[peers.rank()] = sums(peers, {1})[0];
        } catch (const WorkLeft&) {
          totals[peers.rank()] = -1;
        }
        CHECK(sums(peers, {2, 1}) == std::vector{2.0 * size, 1.0 * size});
      });
      bool leaves = 0 <= asked && asked < 2 * (size - 1);
      CHECK(totals == std::vector<double>(size, leaves ? -1 : size));
    }
}

TEST_CASE("peers: rows that are gathered are those of the whole") {
  RandomValues random(1);
  for (const Dims& shape : {Dims{5, 3, 2}, Dims{5, 0, 2}, Dims{2, 3}}) {
    Tensor whole = random.tensor(shape);
    for (int64_t size : {1, 2, 3, 5})
      ThreadsAsPeers::run(size, [&](ProcessGroup& peers) {
        Interval own = own_rows(peers, shape[0]);
        Tensor gathered = gather_rows(peers, slice(whole, 0, own.begin, own.end));
        CHECK(gathered.shape() == whole.shape());
        CHECK(gathered.values() == whole.values());
      });
  }
}
