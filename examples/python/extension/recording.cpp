#include "recording.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/machine/spin_lock.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Recording::Recording(std::vector<Tensor> inputs, const std::function<Tensor()>& forward)
    : inputs_(std::move(inputs)), output_(forward()) {
  tape_.stop_recording();
}

std::vector<Tensor> Recording::backward(const Tensor& gradient) {
  if (output_.requires_gradient()) tape_.backward(output_, gradient);
  std::vector<Tensor> gradients;
  for (const Tensor& input : inputs_) {
    if (!input.requires_gradient()) continue;
    Tensor known = input.gradient();
    gradients.push_back(known.defined() ? known : Tensor::zeros(input.shape()));
  }
  return gradients;
}

namespace {

/// The recordings by ticket. They are never destroyed: a ticket may outlive them.
std::unordered_map<const void*, std::unique_ptr<Recording>>& deposits =
    *new std::unordered_map<const void*, std::unique_ptr<Recording>>;
constinit std::mutex deposits_mutex;
[[maybe_unused]] const bool forks_hold_deposits = hold_over_forks<deposits_mutex>();

}  // namespace

std::shared_ptr<uint8_t> deposit(std::unique_ptr<Recording> recording) {
  std::shared_ptr<uint8_t> ticket(new uint8_t(0), [](uint8_t* byte) {
    take(byte);
    delete byte;
  });
  std::lock_guard lock(deposits_mutex);
  deposits[ticket.get()] = std::move(recording);
  return ticket;
}

std::unique_ptr<Recording> take(const void* ticket) {
  std::lock_guard lock(deposits_mutex);
  auto found = deposits.extract(ticket);
  return found ? std::move(found.mapped()) : nullptr;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
