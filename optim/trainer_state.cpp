#include "optim/trainer_state.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"
#include "core/machine/parallel.h"
#include "nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void SavedState::exchange(const std::string& name, DType dtype, std::span<void* const> numbers) {
  auto size = static_cast<size_t>(bits_of(dtype) / 8);
  Dims shape{std::ssize(numbers)};
  if (reads_) check_stored(name, tensors[name], shape, dtype);
  std::vector<std::byte> bytes(numbers.size() * size);
  if (reads_) tensors[name].bytes.copy_to(bytes.data());
  std::byte* place = bytes.data();
  for (void* number : numbers) {
    std::memcpy(reads_ ? number : place, reads_ ? place : number, size);
    place += size;
    if (dtype == DType::i64) {
      int64_t count = *static_cast<int64_t*>(number);
      std::string wrong = range_error(static_cast<double>(count), range::steps);
      require(wrong.empty(), "tensor ", shown(name), ": ", count, wrong);
    }
    if (dtype == DType::f64)
      require(!std::isnan(*static_cast<double*>(number)), "tensor ", shown(name),
              ": nan, expected a loss");
  }
  if (!reads_) tensors[name] = {dtype, shape, std::move(bytes)};
}

void SavedState::operator()(const std::string& name, std::vector<double>& losses) {
  if (reads_) losses.resize(tensors.at(name).bytes.size() / sizeof(double));
  std::vector<void*> places;
  for (double& loss : losses) places.push_back(&loss);
  exchange(name, DType::f64, places);
}

void SavedState::operator()(const std::string& name, Tensor& tensor) {
  if (!tensor.defined()) return;
  if (!reads_) {
    tensors[name] = stored_view(tensor);
    return;
  }
  check_stored(name, tensors.at(name), tensor.shape());
  tensor = loaded_tensor(name, tensors.at(name));
}

void SavedState::in_place(const std::string& name, const Tensor& tensor) {
  if (!tensor.defined()) return;
  if (!reads_) {
    tensors[name] = stored_view(tensor);
    return;
  }
  check_stored(name, tensors.at(name), tensor.shape());
  unfilled_.emplace_back(name, tensor);
}

void SavedState::fill() const {
  parallel_for(std::ssize(unfilled_), [&](int64_t n) {
    const auto& [name, tensor] = unfilled_[n];
    read_into(tensor, tensors.at(name));
  });
}

void SavedState::operator()(const std::string& name, const Module& module) {
  std::map<std::string, StoredTensor> values = state_view(module);
  for (auto& [parameter, value] : values)
    if (reads_)
      value = tensors.at(name + "." + parameter);
    else
      tensors[name + "." + parameter] = value;
  if (reads_) load_state_dict(module, values, name);
}

void TrainerState::visit(SavedState& saved) {
  saved("step", step);
  saved("best_loss", best_loss);
  saved("evaluations_since_best", evaluations_since_best);
  int64_t due = !saved.reads() && evaluation_due ? 1 : 0;
  if (due == 1 || saved.tensors.contains(evaluation_due_name)) saved(evaluation_due_name, due);
  evaluation_due = due > 0;
  if (rates) {
    int64_t is_evaluated = rates->is_evaluated ? 1 : 0;
    saved("rate.last", rates->learning_rate);
    saved("rate.losses", rates->losses);
    saved("rate.is_evaluated", is_evaluated);
    rates->is_evaluated = is_evaluated > 0;
  }
  saved("dropout", random.seed, random.stream, random.counter);
  std::vector<Moments> moments = optimizer.moments();
  for (size_t n = 0; n < moments.size(); ++n) {
    const std::string& name = optimizer.parameters()[n].name;
    saved("optimizer.updates." + name, moments[n].updates);
    saved.in_place("optimizer.first." + name, moments[n].first);
    saved.in_place("optimizer.second." + name, moments[n].second);
  }
  optimizer.set_moments(std::move(moments));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
