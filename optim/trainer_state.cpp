#include "optim/trainer_state.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/io/tensor_file.h"
#include "nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Writes or reads numbers that are not Scalars, such as counters, as F64, I64 or U64 [n].
template <class Number>
void exchange(SavedState& saved, const std::string& name, std::initializer_list<Number*> all) {
  DType dtype = DType::f64;
  if constexpr (std::is_integral_v<Number>)
    dtype = std::is_signed_v<Number> ? DType::i64 : DType::u64;
  Dims shape{std::ssize(all)};
  StoredTensor& tensor = saved.tensors[name];
  if (!saved.reads()) tensor = {dtype, shape, std::vector<std::byte>(all.size() * sizeof(Number))};
  check_stored(name, tensor, shape, dtype);
  std::byte* place = tensor.bytes.data();
  for (Number* number : all) {
    if (saved.reads())
      std::memcpy(number, place, sizeof(Number));
    else
      std::memcpy(place, number, sizeof(Number));
    place += sizeof(Number);
  }
}

void check_count(const std::string& name, int64_t count) {
  require(count >= 0, "tensor ", shown(name), ": ", count, ", expected at least 0");
}

}  // namespace

void SavedState::operator()(const std::string& name, int64_t& count) {
  exchange(*this, name, {&count});
  check_count(name, count);
}

void SavedState::operator()(const std::string& name, int64_t& first, int64_t& second) {
  exchange(*this, name, {&first, &second});
  check_count(name, first);
  check_count(name, second);
}

void SavedState::operator()(const std::string& name, double& loss) {
  exchange(*this, name, {&loss});
  require(!std::isnan(loss), "tensor ", shown(name), ": nan, expected a loss");
}

void SavedState::operator()(const std::string& name, Random& random) {
  exchange(*this, name, {&random.seed, &random.stream, &random.counter});
}

void SavedState::operator()(const std::string& name, Fingerprint& fingerprint) {
  exchange(*this, name, {&fingerprint.tokens, &fingerprint.hash});
}

void SavedState::operator()(const std::string& name, Tensor& tensor) {
  if (!tensor.defined()) return;
  if (!reads_) {
    tensors[name] = stored(tensor);
    return;
  }
  check_stored(name, tensors.at(name), tensor.shape());
  tensor = loaded_tensor(name, tensors.at(name));
}

void SavedState::operator()(const std::string& name, const Module& module) {
  std::map<std::string, StoredTensor> values = state_dict(module);
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
  saved("dropout", random);
  std::vector<Moments> moments = optimizer.moments();
  for (size_t n = 0; n < moments.size(); ++n) {
    const std::string& name = optimizer.parameters()[n].name;
    saved("optimizer.updates." + name, moments[n].updates);
    saved("optimizer.first." + name, moments[n].first);
    saved("optimizer.second." + name, moments[n].second);
  }
  optimizer.set_moments(std::move(moments));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
