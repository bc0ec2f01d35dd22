#include "optim/optimizer.h"

#include <algorithm>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "optim/parameter_chunks.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Throws unless weights can be updated at this rate.
void check_rate(const char* name, double rate, const std::string& parameter = "") {
  std::string wrong = range_error(rate, range::rate);
  require(wrong.empty(), "optimizer: ", name, rate, parameter.empty() ? "" : " of ", parameter,
          wrong);
}

}  // namespace

void Optimizer::step(double learning_rate) {
  check_rate("learning rate ", learning_rate);
  for (size_t n = 0; n < factors_.size(); ++n)
    check_rate("learning rate ", learning_rate * factors_[n], parameters_[n].name);
  for (size_t n = 0; n < parameters_.size(); ++n)
    if (parameters_[n].value.gradient().defined()) ++moments_[n].updates;
  std::vector<ParameterChunk> all = parameter_chunks(parameters_);
  parallel_for(std::ssize(all), [&](int64_t n) {
    const ParameterChunk& chunk = all[n];
    const auto& [name, value, decay] = parameters_[chunk.parameter];
    const Moments& moments = moments_[chunk.parameter];
    auto written_from = [](const Tensor& tensor, int64_t begin) {
      return tensor.defined() ? tensor.mutable_data() + begin : nullptr;
    };
    Tensor gradient = value.gradient();
    double rate = learning_rate * factors_[chunk.parameter];
    for (int64_t begin = chunk.begin; begin < chunk.end; begin += UpdateBlock::most) {
      UpdateBlock block{written_from(value, begin), gradient.data() + begin,
                        written_from(moments.first, begin), written_from(moments.second, begin),
                        std::min(UpdateBlock::most, chunk.end - begin)};
      update(rule_, rate, decay == Decay::yes, moments.updates, block);
    }
  });
}

void Optimizer::zero_gradients() const {
  for (const Parameter& parameter : parameters_) parameter.value.zero_gradient();
}

Optimizer::Optimizer(std::vector<Parameter> parameters, const UpdateRule& rule,
                     std::vector<double> learning_rate_factors)
    : parameters_(std::move(parameters)), rule_(rule), factors_(std::move(learning_rate_factors)) {
  check(rule_);
  require(!parameters_.empty(), "optimizer: no parameters, expected at least 1");
  require_distinct("optimizer", parameters_);
  if (factors_.empty()) factors_.assign(parameters_.size(), 1);
  require(factors_.size() == parameters_.size(), "optimizer: ", factors_.size(),
          " factors of the learning rate, expected ", parameters_.size());
  for (size_t n = 0; n < factors_.size(); ++n)
    check_rate("factor ", factors_[n], parameters_[n].name);
  for (const auto& [name, value, decay] : parameters_)
    require(value.is_contiguous(), "optimizer: parameter ", name, " is not contiguous");
  moments_.resize(parameters_.size());
  parallel_for(std::ssize(parameters_), [&](int64_t n) {
    const Dims& shape = parameters_[n].value.shape();
    if (moment_count(rule_) >= 1) moments_[n].first = Tensor::zeros(shape);
    if (moment_count(rule_) == 2) moments_[n].second = Tensor::zeros(shape);
  });
}

void Optimizer::set_moments(std::vector<Moments> moments) {
  require(moments.size() == moments_.size(), "optimizer: moments of ", moments.size(),
          " parameters, expected ", moments_.size());
  auto same_shape = [](const Tensor& a, const Tensor& b) {
    return a.defined() == b.defined() && (!a.defined() || a.shape() == b.shape());
  };
  for (size_t n = 0; n < moments.size(); ++n)
    require(moments[n].updates >= 0 && same_shape(moments[n].first, moments_[n].first) &&
                same_shape(moments[n].second, moments_[n].second),
            "optimizer: the moments of ", parameters_[n].name, " do not fit it");
  moments_ = std::move(moments);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
