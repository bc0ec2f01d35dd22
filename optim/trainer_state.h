#pragma once

// What a training has to remember between two runs.

#include <array>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/io/safetensors.h"
#include "core/random.h"
#include "nn/module.h"
#include "optim/optimizer.h"
#include "optim/rate_function.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Writes the values of a state as tensors for a file, or reads them back. Whatever has a state
/// visits each of its values once, under a name, for both. Each read throws one line when the
/// tensor has another type or shape, or when a number is out of range. None may be missing.
class SavedState {
 public:
  /// Begins without tensors, and writes.
  SavedState() = default;
  /// Reads these tensors.
  explicit SavedState(std::map<std::string, StoredTensor> saved)
      : tensors(std::move(saved)), reads_(true) {}

  /// Whether `visit` is to take what was saved.
  bool reads() const { return reads_; }

  /// Numbers of one type: counts as I64 [n], each at least 0, losses as F64 [n], none of them NaN,
  /// and U64 [n].
  template <class Number, std::same_as<Number>... More>
  requires std::is_arithmetic_v<Number>
  void operator()(const std::string& name, Number& number, More&... more) {
    constexpr DType whole = std::is_signed_v<Number> ? DType::i64 : DType::u64;
    exchange(name, std::is_integral_v<Number> ? whole : DType::f64,
             std::array<void*, 1 + sizeof...(More)>{&number, &more...});
  }
  /// Losses, of which there may be any number, as F64 [n].
  void operator()(const std::string& name, std::vector<double>& losses);
  /// A tensor whose shape stays as it is. An undefined tensor is passed over.
  void operator()(const std::string& name, Tensor& tensor);
  /// All parameters of a module, under their names after `name` and a dot. What is read is copied
  /// into them, or all stay as they were.
  void operator()(const std::string& name, const Module& module);
  /// A large tensor of nobody else, whose shape stays as it is. What is read is only checked, and
  /// `fill` writes it into the tensor's own memory, when nothing was refused.
  void in_place(const std::string& name, const Tensor& tensor);
  /// Reads what `in_place` has checked. Throws only where a file can no longer be read.
  void fill() const;

  /// What is saved, by name. The values of tensors are those of the state itself (stored_view).
  std::map<std::string, StoredTensor> tensors;

 private:
  void exchange(const std::string& name, DType dtype, std::span<void* const> numbers);

  bool reads_ = false;
  std::vector<std::pair<std::string, Tensor>> unfilled_{};
};

/// The names of the tensors of a memory, which a state may have or not.
inline constexpr const char* memory_prefix = "memory.";
/// The name of the tensor that only a run that was stopped in an evaluation has.
inline constexpr const char* evaluation_due_name = "evaluation_due";
/// Returns the name of the memory of this block.
inline std::string memory_name(size_t block) { return memory_prefix + std::to_string(block); }

/// What changes from step to step in every training, except the weights and what belongs to the
/// task.
struct TrainerState {
  /// Number of updates made.
  int64_t step = 0;
  /// Random numbers for dropout.
  Random random;
  /// The optimizer with its moments.
  Optimizer optimizer;
  /// The lowest validation loss so far.
  double best_loss = std::numeric_limits<double>::infinity();
  /// Number of evaluations since then.
  int64_t evaluations_since_best = 0;
  /// Whether the evaluation of this step was due and not made, since the run was stopped in it.
  bool evaluation_due = false;
  /// What the rate depends on beside the step, where it is a function.
  std::optional<RateInput> rates{};

  /// Writes or reads
  ///
  ///     step                     I64 [1]
  ///     best_loss                F64 [1]
  ///     evaluations_since_best   I64 [1]
  ///     evaluation_due           I64 [1]: 1; there only where it is
  ///     rate.last                F64 [1]: that of the last update; only with a function
  ///     rate.losses              F64 [n]: of the evaluations; only with a function
  ///     rate.is_evaluated        I64 [1]: only with a function
  ///     dropout                  U64 [3]: seed, stream, counter
  ///     optimizer.updates.NAME   I64 [1] of a parameter
  ///     optimizer.first.NAME     of its shape, where the update rule has such moments
  ///     optimizer.second.NAME
  void visit(SavedState& saved);
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
