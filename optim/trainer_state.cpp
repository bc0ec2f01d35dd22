#include "optim/trainer_state.h"

#include <cmath>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/io/stored_numbers.h"
#include "core/io/tensor_file.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

using StoredTensors = std::map<std::string, StoredTensor>;

StoredTensor stored_random(const Random& random) {
  return stored_numbers<uint64_t>({random.seed, random.stream, random.counter});
}

Random loaded_random(const std::string& name, const StoredTensors& tensors) {
  auto numbers = loaded_numbers<uint64_t>(name, tensors.at(name), 3);
  return {numbers[0], numbers[1], numbers[2]};
}

int64_t loaded_count(const std::string& name, const StoredTensors& tensors) {
  int64_t count = loaded_numbers<int64_t>(name, tensors.at(name), 1)[0];
  require(count >= 0, "tensor ", shown(name), ": ", count, ", expected at least 0");
  return count;
}

/// Returns the tensor, which must have the shape of the one that it replaces.
Tensor loaded_like(const Tensor& start, const std::string& name, const StoredTensors& tensors) {
  if (!start.defined()) return {};
  const StoredTensor& tensor = tensors.at(name);
  require(tensor.shape == start.shape(), "tensor ", shown(name), ": ", tensor.shape, ", expected ",
          start.shape());
  return loaded_tensor(name, tensor);
}

void save(const Optimizer& optimizer, StoredTensors& tensors) {
  for (size_t n = 0; n < optimizer.moments().size(); ++n) {
    const std::string& name = optimizer.parameters()[n].name;
    const Moments& moments = optimizer.moments()[n];
    tensors["optimizer.updates." + name] = stored_numbers<int64_t>({moments.updates});
    if (moments.first.defined()) tensors["optimizer.first." + name] = stored(moments.first);
    if (moments.second.defined()) tensors["optimizer.second." + name] = stored(moments.second);
  }
}

void load(Optimizer& optimizer, const StoredTensors& tensors) {
  std::vector<Moments> all = optimizer.moments();
  for (size_t n = 0; n < all.size(); ++n) {
    const std::string& name = optimizer.parameters()[n].name;
    all[n].updates = loaded_count("optimizer.updates." + name, tensors);
    all[n].first = loaded_like(all[n].first, "optimizer.first." + name, tensors);
    all[n].second = loaded_like(all[n].second, "optimizer.second." + name, tensors);
  }
  optimizer.set_moments(std::move(all));
}

void save(const RandomBlocks& batches, StoredTensors& tensors) {
  tensors["blocks"] = stored_random(batches.random);
}

void save(const ParallelStreams& batches, StoredTensors& tensors) {
  tensors["streams"] = stored_numbers<int64_t>({batches.position});
}

void load(RandomBlocks& batches, const StoredTensors& tensors) {
  batches.random = loaded_random("blocks", tensors);
}

void load(ParallelStreams& batches, const StoredTensors& tensors) {
  int64_t stream = static_cast<int64_t>(batches.text.size()) / batches.batch_size;
  batches.position = loaded_count("streams", tensors);
  require(batches.position < stream, "tensor \"streams\": ", batches.position,
          ", expected less than ", stream);
}

std::string memory_name(size_t block) { return "memory." + std::to_string(block); }

/// Throws unless the tensors have the names of those of `start`, with a memory of any depth.
void check_state_names(const StoredTensors& tensors, const TrainerState& start) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : to_tensors(start))
    if (!name.starts_with("memory.")) names.push_back(name);
  for (size_t n = 0; tensors.contains(memory_name(n)); ++n) names.push_back(memory_name(n));
  check_names(names, tensors);
}

}  // namespace

void save(const LoopState& state, StoredTensors& tensors) {
  tensors["step"] = stored_numbers<int64_t>({state.step});
  tensors["best_loss"] = stored_numbers<double>({state.best_loss});
  tensors["evaluations_since_best"] = stored_numbers<int64_t>({state.evaluations_since_best});
  tensors["dropout"] = stored_random(state.random);
  save(state.optimizer, tensors);
}

void load(LoopState& state, const StoredTensors& tensors) {
  state.step = loaded_count("step", tensors);
  state.best_loss = loaded_numbers<double>("best_loss", tensors.at("best_loss"), 1)[0];
  require(!std::isnan(state.best_loss), "tensor \"best_loss\": nan, expected a loss");
  state.evaluations_since_best = loaded_count("evaluations_since_best", tensors);
  state.random = loaded_random("dropout", tensors);
  load(state.optimizer, tensors);
}

StoredTensors to_tensors(const TrainerState& state) {
  StoredTensors tensors;
  save(static_cast<const LoopState&>(state), tensors);
  std::visit([&](const auto& batches) { save(batches, tensors); }, state.batches);
  for (size_t n = 0; n < state.memory.size(); ++n)
    tensors[memory_name(n)] = stored(state.memory[n]);
  return tensors;
}

TrainerState from_tensors(const StoredTensors& tensors, const TrainerState& start) {
  check_state_names(tensors, start);
  TrainerState state = start;
  load(static_cast<LoopState&>(state), tensors);
  std::visit([&](auto& batches) { load(batches, tensors); }, state.batches);
  state.memory.clear();
  for (size_t n = 0; tensors.contains(memory_name(n)); ++n)
    state.memory.push_back(loaded_tensor(memory_name(n), tensors.at(memory_name(n))));
  return state;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
