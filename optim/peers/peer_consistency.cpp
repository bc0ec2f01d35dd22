#include "optim/peers/peer_consistency.h"

#include <algorithm>

#include "core/errors.h"
#include "nn/state_dict.h"
#include "optim/fingerprint.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void PeerConsistency::add(const std::string& name, std::span<const std::byte> bytes) {
  names_.push_back(name);
  hashes_.push_back(hash(std::as_bytes(std::span(name))));
  hashes_.push_back(hash(bytes));
}

void PeerConsistency::operator()(const std::map<std::string, StoredTensor>& tensors) {
  for (const auto& [name, tensor] : tensors) add(name, tensor.bytes);
}

void PeerConsistency::model(const std::string& config, double dropout, double attention_dropout,
                            const Module& model) {
  (*this)(config, {"model"});
  (*this)(dropout, {"dropout"});
  (*this)(attention_dropout, {"attention_dropout"});
  (*this)(state_view(model));
}

void PeerConsistency::check_same(ProcessGroup& peers) const {
  std::vector<std::vector<std::byte>> all = peers.gather(std::as_bytes(std::span(hashes_)));
  for (size_t peer = 1; peer < all.size(); ++peer) {
    auto [first, other] = std::ranges::mismatch(all[0], all[peer]);
    if (first == all[0].end() && other == all[peer].end()) continue;
    size_t n = static_cast<size_t>(first - all[0].begin()) / (2 * sizeof(uint64_t));
    fail("trainer: rank ", peer, " begins with another ",
         n < names_.size() ? names_[n] : "number of tensors", " than rank 0");
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
