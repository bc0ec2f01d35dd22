#include "core/tape.h"

#include <algorithm>
#include <atomic>

#include "core/accumulate.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The tapes of this thread, and nulls for pauses, from the oldest to the newest. Those that have
/// ended have expired.
thread_local std::vector<std::weak_ptr<Tape*>> listed;

/// A number for each thread, from 1.
uint64_t this_thread() {
  static std::atomic<uint32_t> last = 0;
  thread_local const uint32_t number = ++last;
  return number;
}

constexpr uint64_t entries_of(uint64_t gradient_thread) { return gradient_thread & 0xffffffff; }

/// Counts one more entry that reads these values for a gradient, unless those of another thread do.
bool claim(Storage& storage) {
  uint64_t now = storage.gradient_thread, claimed = 0;
  do {
    if (entries_of(now) > 0 && now >> 32 != this_thread()) return false;
    claimed = (this_thread() << 32) + entries_of(now) + 1;
  } while (!storage.gradient_thread.compare_exchange_weak(now, claimed));
  return true;
}

}  // namespace

std::shared_ptr<Tape*> Tape::place(Tape* tape) {
  std::erase_if(listed, [](const auto& known) { return known.expired(); });
  auto place = std::make_shared<Tape*>(tape);
  listed.push_back(place);
  return place;
}

Tape* Tape::current() {
  for (; !listed.empty(); listed.pop_back())
    if (auto newest = listed.back().lock()) return *newest;
  return nullptr;
}

Tape::~Tape() {
  place_.reset();
  while (!entries_.empty()) drop_last();
}

void Tape::append(const Tensor& output, std::span<const Tensor* const> inputs, Backward backward) {
  require(!spent_, "tape: recording after the backward pass; make a new Tape for each pass");
  Entry entry{output, {}, std::move(backward)};
  for (const Tensor* input : inputs)
    if (input && input->defined()) keep(entry, *input);
  output.require_gradient();
  ++output.storage_->value->recorded;
  output.storage_->computed = true;
  entries_.push_back(std::move(entry));
}

/// Adds an input, whose values stay as they are as long as the entry does. Throws, and releases
/// what the entry has kept, where another thread's tapes have read it.
void Tape::keep(Entry& entry, const Tensor& input) {
  bool learns = input.requires_gradient();
  if (learns && !claim(*input.storage_)) {
    release(entry);
    fail(
        "tape: a tensor of shape ", input.shape(),
        " is recorded on a live tape of another thread; expected one thread at a time to train it");
  }
  ++input.storage_->value->recorded;
  entry.inputs.push_back({input, learns});
}

void Tape::release(const Entry& entry) {
  for (const auto& [input, learns] : entry.inputs) {
    --input.storage_->value->recorded;
    if (learns) --input.storage_->gradient_thread;
  }
}

void Tape::pass_over(const Tensor& output, std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs)
    if (input && input->defined() && (input->requires_gradient() || input->storage_->computed))
      output.storage_->computed = true;
}

/// Gives all inputs of an op a gradient of 0: its output has no element on which one would matter.
void Tape::pass_nothing(const Entry& entry) {
  for (const Input& input : entry.inputs) cleared(input.tensor.gradient_sink());
}

void Tape::drop_last() {
  --entries_.back().output.storage_->value->recorded;
  release(entries_.back());
  entries_.pop_back();
}

std::vector<Tensor> Tape::leaves() const {
  std::vector<Tensor> leaves;
  for (const Entry& entry : entries_)
    for (const auto& [input, learns] : entry.inputs) {
      if (!learns || input.storage_->computed) continue;
      const Layout& all = input.layout();
      leaves.push_back(input.view(all.keep_axes([&](int axis) { return all.strides[axis] != 0; })));
    }
  return leaves;
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
    if (Tensor gradient = entry.output.gradient(); gradient.defined())
      gradient.count() == 0 ? pass_nothing(entry) : entry.backward(gradient);
    drop_last();
    if (after_entry) after_entry();
  }
}

bool recording(std::span<const Tensor* const> inputs) {
  return Tape::current() && std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
           return input && input->requires_gradient();
         });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
