#include "optim/peers/process_group.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "core/machine/spin_lock.h"
#include "core/machine/this_thread.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

template <class Number>
std::vector<Number> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// Between two pieces of work a peer passes nothing, or a byte if it is asked to leave. A sum is
// longer.
constexpr std::byte asks_to_leave{1};

/// Returns what each peer passes, by rank.
std::vector<std::vector<std::byte>> gather_unless_left(ProcessGroup& peers,
                                                       std::span<const std::byte> mine) {
  std::vector<std::vector<std::byte>> all = peers.gather(mine);
  for (const std::vector<std::byte>& passed : all)
    if (passed.size() == 1) throw WorkLeft{};
  return all;
}

constinit SpinLock lock;
[[maybe_unused]] const bool forks_hold_it = hold_over_forks<lock>();

/// The only peer of every thread, with the sums that each has begun.
class Alone : public ProcessGroup {
 public:
  void start_sum(std::vector<Scalar> values) override {
    std::lock_guard guard(lock);
    sums_[this_thread()].push_back(std::move(values));
  }
  std::vector<std::vector<Scalar>> finish_sums() override {
    std::lock_guard guard(lock);
    auto own = sums_.extract(this_thread());
    return own ? std::move(own.mapped()) : std::vector<std::vector<Scalar>>();
  }

 private:
  std::map<uint32_t, std::vector<std::vector<Scalar>>> sums_{};
};

}  // namespace

ProcessGroup& alone() {
  // Never destroyed: a trainer may outlive the thread that made it, and main.
  static auto& peers = *new Alone;
  return peers;
}

Interval own_rows(const ProcessGroup& peers, int64_t rows) {
  // As rows · rank / size, whose product may be beyond int64_t.
  int64_t whole = rows / peers.size(), rest = rows % peers.size();
  auto begin = [&](int64_t rank) { return whole * rank + rest * rank / peers.size(); };
  return {begin(peers.rank()), begin(peers.rank() + 1)};
}

void leave_if_any(ProcessGroup& peers, bool is_asked) {
  gather_unless_left(peers, {&asks_to_leave, size_t{is_asked}});
}

std::vector<double> sums(ProcessGroup& peers, const std::vector<double>& values) {
  std::span<const std::byte> mine = std::as_bytes(std::span(values));
  std::vector<std::vector<std::byte>> all = gather_unless_left(peers, mine);
  while (std::ranges::any_of(all, [&](const auto& passed) { return passed.size() < mine.size(); }))
    all = gather_unless_left(peers, mine);
  std::vector<double> totals = numbers_of<double>(all[0]);
  for (size_t peer = 1; peer < all.size(); ++peer) {
    std::vector<double> numbers = numbers_of<double>(all[peer]);
    for (size_t n = 0; n < totals.size(); ++n) totals[n] += numbers[n];
  }
  return totals;
}

Tensor gather_rows(ProcessGroup& peers, const Tensor& part) {
  std::vector<Scalar> joined;
  std::vector<Scalar> own = part.values();
  for (const std::vector<std::byte>& bytes : peers.gather(std::as_bytes(std::span(own)))) {
    std::vector<Scalar> rows = numbers_of<Scalar>(bytes);
    joined.insert(joined.end(), rows.begin(), rows.end());
  }
  Dims shape = part.shape();
  shape[0] = static_cast<int64_t>(sums(peers, {static_cast<double>(shape[0])})[0]);
  return Tensor::from(shape, joined);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
