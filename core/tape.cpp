#include "core/tape.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tape::~Tape() {
  place_.end();
  while (!entries_.empty()) entries_.pop_back();
}

void Tape::append(const Tensor& output, std::span<const Tensor* const> inputs, Backward backward) {
  require(!spent_, "tape: recording after the backward pass; make a new Tape for each pass");
  Entry entry{{output, false}, {}, std::move(backward)};
  entry.inputs.reserve(inputs.size());
  bool foreign = false;
  for (const Tensor* input : inputs)
    if (input && input->defined()) {
      entry.inputs.emplace_back(*input, input->requires_gradient());
      foreign = foreign || is_foreign(*input);
    }
  entries_.push_back(std::move(entry));
  // From here on nothing throws: what is noted and what is recorded agree.
  has_foreign_inputs_ |= foreign;
  Storage& made = *output.storage_;
  made.requires_gradient = made.lineage.computed = true;
  made.lineage.tape = number_;
}

void Tape::backward(const Tensor& loss) {
  require_defined("backward", "the loss", loss);
  require(loss.count() == 1, "backward: a loss of shape ", loss.shape(),
          ", expected one element; give a cotangent for more");
  backward(loss, Tensor::full(loss.shape(), 1));
}

void Tape::backward(const Tensor& output, const Tensor& cotangent,
                    const std::function<void()>& after_entry) {
  check_backward(output, cotangent);
  Pause pause;
  RunningBackward running(number_);
  spent_ = true;
  accumulate(output.open_gradient(), cotangent);
  while (!entries_.empty()) {
    Entry& entry = entries_.back();
    if (Tensor gradient = entry.output.tensor.gradient(); gradient.defined())
      gradient.count() == 0 ? zero_inputs(entry) : entry.backward(gradient);
    entries_.pop_back();
    if (after_entry) after_entry();
  }
}

/// Gives all inputs of an op a gradient of 0: its output has no element on which one would matter.
void Tape::zero_inputs(const Entry& entry) {
  for (const Recorded& input : entry.inputs) zeroed_target(input.tensor.open_gradient());
}

void Tape::note_unrecorded(const Tensor& output, std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs)
    if (input && input->defined() &&
        (input->requires_gradient() || input->storage_->lineage.computed))
      output.storage_->lineage.computed = true;
}

std::vector<Tensor> Tape::leaves() const {
  std::vector<Tensor> leaves;
  for (const Entry& entry : entries_)
    for (const Recorded& input : entry.inputs) {
      const Tensor& x = input.tensor;
      if (!input.wants_gradient || x.storage_->lineage.computed) continue;
      const Layout& all = x.layout();
      leaves.push_back(x.view(all.keep_axes([&](int axis) { return all.strides[axis] != 0; })));
    }
  return leaves;
}

bool recording(std::span<const Tensor* const> inputs) {
  return Tape::current() && std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
           return input && input->requires_gradient();
         });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
