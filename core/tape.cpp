#include "core/tape.h"

#include <algorithm>

#include "core/accumulate.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tape::~Tape() {
  place_.reset();
  while (!entries_.empty()) entries_.pop_back();
}

void Tape::append(const Tensor& output, std::span<const Tensor* const> inputs, Backward backward) {
  require(!spent_, "tape: recording after the backward pass; make a new Tape for each pass");
  Entry entry{{output, false}, {}, std::move(backward)};
  entry.inputs.reserve(inputs.size());
  for (const Tensor* input : inputs)
    if (input && input->defined()) entry.inputs.emplace_back(*input, input->requires_gradient());
  bool foreign = std::ranges::any_of(
      entry.inputs, [&](const Recorded& input) { return is_foreign(input.tensor()); });
  entries_.push_back(std::move(entry));
  // From here on nothing throws: what is noted and what is recorded agree.
  has_foreign_inputs_ |= foreign;
  Storage& made = *output.storage_;
  made.requires_gradient = made.computed = true;
  made.tape = number_;
}

void Tape::note_unrecorded(const Tensor& output, std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs)
    if (input && input->defined() && (input->requires_gradient() || input->storage_->computed))
      output.storage_->computed = true;
}

/// Gives all inputs of an op a gradient of 0: its output has no element on which one would matter.
void Tape::zero_inputs(const Entry& entry) {
  for (const Recorded& input : entry.inputs) zeroed_target(input.tensor().open_gradient());
}

std::vector<Tensor> Tape::leaves() const {
  std::vector<Tensor> leaves;
  for (const Entry& entry : entries_)
    for (const Recorded& input : entry.inputs) {
      const Tensor& x = input.tensor();
      if (!input.learns() || x.storage_->computed) continue;
      const Layout& all = x.layout();
      leaves.push_back(x.view(all.keep_axes([&](int axis) { return all.strides[axis] != 0; })));
    }
  return leaves;
}

void Tape::backward(const Tensor& loss) {
  require_defined("backward", "the loss", loss);
  require(loss.count() == 1, "backward: a loss of shape ", loss.shape(),
          ", expected one element; give a cotangent for more");
  backward(loss, Tensor::full(loss.shape(), 1));
}

void Tape::backward(const Tensor& output, const Tensor& cotangent,
                    const std::function<void()>& after_entry) {
  require(!spent_, "backward: this tape has run backward already; record a new one");
  require_defined("backward", "the output", output, "the cotangent", cotangent);
  require(!output.storage_->computed || output.storage_->tape == number_,
          "backward: this tape did not record the output; make the Tape before the forward pass");
  require(output.requires_gradient(),
          "backward: the output depends on nothing that requires a gradient");
  require(output.shape() == cotangent.shape(), "backward: a cotangent of shape ", cotangent.shape(),
          " for an output of shape ", output.shape());
  if (has_foreign_inputs_) check_edges(output);
  Pause pause;
  Running running(number_);
  spent_ = true;
  accumulate(output.open_gradient(), cotangent);
  while (!entries_.empty()) {
    Entry& entry = entries_.back();
    if (Tensor gradient = entry.output.tensor().gradient(); gradient.defined())
      gradient.count() == 0 ? zero_inputs(entry) : entry.backward(gradient);
    entries_.pop_back();
    if (after_entry) after_entry();
  }
}

bool recording(std::span<const Tensor* const> inputs) {
  return Tape::current() && std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
           return input && input->requires_gradient();
         });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
