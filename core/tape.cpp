#include "shiftgrad/core/tape.h"

#include <algorithm>

#include "shiftgrad/core/accumulate.h"
#include "shiftgrad/core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {
thread_local Tape* current_tape = nullptr;
}

Tape::Tape() : outer_(current_tape) { current_tape = this; }

Tape::~Tape() {
  while (!entries_.empty()) drop_last();
  current_tape = outer_;
}

Tape* Tape::current() { return current_tape; }

Tape::Pause::Pause() : paused_(current_tape) { current_tape = nullptr; }

Tape::Pause::~Pause() { current_tape = paused_; }

void Tape::append(const Tensor& output, std::span<const Tensor* const> inputs, Backward backward) {
  require(!spent_, "tape: recording after the backward pass; make a new Tape for each pass");
  Entry entry{output.require_gradient(), {}, std::move(backward)};
  ++output.storage_->value->recorded;
  output.storage_->computed = true;
  for (const Tensor* input : inputs)
    if (input && input->defined()) {
      ++input->storage_->value->recorded;
      entry.inputs.push_back(input->storage_);
    }
  entries_.push_back(std::move(entry));
}

void Tape::pass_over(const Tensor& output, std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs)
    if (input && input->defined() && (input->requires_gradient() || input->storage_->computed))
      output.storage_->computed = true;
}

void Tape::drop_last() {
  Entry& entry = entries_.back();
  --entry.output.storage_->value->recorded;
  for (auto& input : entry.inputs) --input->value->recorded;
  entries_.pop_back();
}

bool Tape::made(const Tensor& output) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.output.shares_storage(output); });
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
  require(!output.storage_->computed || made(output),
          "backward: this tape did not record the output; make the Tape before the forward pass");
  require(output.requires_gradient(),
          "backward: the output depends on nothing that requires a gradient");
  require(output.shape() == cotangent.shape(), "backward: a cotangent of shape ", cotangent.shape(),
          " for an output of shape ", output.shape());
  spent_ = true;
  Pause pause;
  accumulate(output.gradient_sink(), cotangent);
  while (!entries_.empty()) {
    Entry& entry = entries_.back();
    if (Tensor gradient = entry.output.gradient(); gradient.defined()) entry.backward(gradient);
    drop_last();
    if (after_entry) after_entry();
  }
}

bool recording(std::span<const Tensor* const> inputs) {
  return current_tape && std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
           return input && input->requires_gradient();
         });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
