#include "optim/peers/process_group.h"

#include <cstring>

#include "core/machine/thread_variable.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the numbers of each peer, by rank.
template <class Number>
std::vector<std::vector<Number>> gather_numbers(ProcessGroup& peers, std::span<const Number> mine) {
  std::vector<std::vector<Number>> all;
  for (const std::vector<std::byte>& bytes : peers.gather(std::as_bytes(mine))) {
    std::vector<Number>& numbers = all.emplace_back(bytes.size() / sizeof(Number));
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  }
  return all;
}

}  // namespace

ProcessGroup& alone() {
  thread_local ThreadVariable<ProcessGroup> peers;
  return peers.value;
}

Rows own_rows(const ProcessGroup& peers, int64_t rows) {
  // As rows · rank / size, whose product may be beyond int64_t.
  int64_t whole = rows / peers.size(), rest = rows % peers.size();
  auto begin = [&](int64_t rank) { return whole * rank + rest * rank / peers.size(); };
  return {begin(peers.rank()), begin(peers.rank() + 1)};
}

std::vector<double> sums(ProcessGroup& peers, const std::vector<double>& values) {
  std::vector<std::vector<double>> all = gather_numbers(peers, std::span(values));
  std::vector<double> totals = all[0];
  for (size_t peer = 1; peer < all.size(); ++peer)
    for (size_t n = 0; n < totals.size(); ++n) totals[n] += all[peer][n];
  return totals;
}

Tensor gather_rows(ProcessGroup& peers, const Tensor& part) {
  std::vector<Scalar> joined;
  for (const std::vector<Scalar>& rows :
       gather_numbers(peers, std::span<const Scalar>(part.values())))
    joined.insert(joined.end(), rows.begin(), rows.end());
  Dims shape = part.shape();
  shape[0] = static_cast<int64_t>(sums(peers, {static_cast<double>(shape[0])})[0]);
  return Tensor::from(shape, joined);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
