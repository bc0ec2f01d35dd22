#include "optim/peers/gradient_reducer.h"

#include <algorithm>

#include "optim/stopwatch.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the parameter's gradient, or nothing if there is none.
std::span<Scalar> gradient_of(const Parameter& parameter) {
  Tensor gradient = parameter.value.gradient();
  if (!gradient.defined()) return {};
  return {gradient.mutable_data(), static_cast<size_t>(gradient.count())};
}

}  // namespace

GradientReducer::GradientReducer(ProcessGroup& peers, std::vector<Parameter> parameters)
    : peers_(peers) {
  if (peers.size() == 1) return;
  int64_t room = 0;
  std::ranges::reverse(parameters);
  for (Parameter& parameter : parameters) {
    if (room < parameter.value.count()) {
      buckets_.emplace_back();
      room = bucket_size;
    }
    room -= parameter.value.count();
    buckets_.back().push_back(std::move(parameter));
  }
}

void GradientReducer::start() {
  while (started_ < buckets_.size() &&
         std::ranges::none_of(buckets_[started_], [](const Parameter& parameter) {
           return parameter.value.recorded();
         }))
    start_next();
}

void GradientReducer::start_next() {
  std::vector<Scalar> values;
  for (const Parameter& parameter : buckets_[started_++]) {
    std::span<Scalar> gradient = gradient_of(parameter);
    values.insert(values.end(), gradient.begin(), gradient.end());
  }
  peers_.start_sum(std::move(values));
}

double GradientReducer::finish() {
  if (buckets_.empty()) return 0;
  while (started_ < buckets_.size()) start_next();
  started_ = 0;
  Stopwatch watch;
  std::vector<std::vector<Scalar>> sums = peers_.finish_sums();
  double waited = watch.seconds();
  for (size_t n = 0; n < buckets_.size(); ++n) {
    auto next = sums[n].begin();
    for (const Parameter& parameter : buckets_[n]) {
      std::span<Scalar> gradient = gradient_of(parameter);
      std::copy_n(next, gradient.size(), gradient.begin());
      next += std::ssize(gradient);
    }
  }
  return waited;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
