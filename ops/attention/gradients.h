#pragma once

// The gradient of each input of attention, in parts: what one task adds to it.

#include <deque>
#include <vector>

#include "ops/attention/tile.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The gradient of one input, as a matrix for each task.
class TaskGradient {
 public:
  /// What a task's matrix holds: sums over the task's queries, or the rows of these queries alone.
  enum class Parts { sums, rows };

  /// Sets up the gradient of `input` [B or 1, G, rows, columns] of G groups of heads, where B may
  /// be missing; an undefined input has none. Its gradient may be open already. `in_place` is
  /// whether tasks add to it themselves.
  TaskGradient(const Tensor& input, const AttentionProblem& problem, const OpenGradient& open = {},
               bool in_place = false, Parts parts = Parts::sums);

  bool wanted() const { return input_.defined(); }
  /// Returns a task's matrix; its data are null when nobody wants the gradient.
  Matrix of(int64_t task) const;

  /// Takes memory for a task's matrix where its gradient is added to in place, and clears sums.
  void begin(int64_t task);
  /// Whether a task's sums are finite.
  bool is_finite(int64_t task) const;
  /// Adds a task's matrix to a gradient in place, unless the matrix is that part of it.
  void end(int64_t task);
  /// Adds all matrices to another gradient, in a fixed tree.
  void write_gradient() const;

 private:
  /// Returns a task's part of a gradient in place. It is the task's matrix if nothing was there.
  Matrix target(int64_t task) const;

  Tensor input_{};             // [strips or 1, B, G, H / G, rows, columns], as the next two are
  OpenGradient open_{};        // of the input, if it is open
  Tensor sums_{};              // where tasks do not add to the gradient themselves
  std::vector<Buffer> own_{};  // where they add to what was there: for each head, while it runs
  Parts parts_;
};

/// The gradients of all inputs.
struct AttentionGradients {
  explicit AttentionGradients(const AttentionProblem& problem);

  std::deque<TaskGradient> all{};
  TaskGradient &query, &key, &value;
  TaskGradient &content_bias, &position_bias, &position_rows, &position_queries, &position_scores;
  TaskGradient &key_scores, &score_parameters, &sink;
  TaskGradient &clipped_keys, &clipped_values;

 private:
  AttentionGradients(const AttentionProblem& problem, const std::vector<OpenGradient>& open);
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
