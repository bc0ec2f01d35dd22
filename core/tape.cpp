#include "core/tape.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "core/accumulate.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The tapes of this thread, and nulls for pauses, from the oldest to the newest. Those that have
/// ended have expired.
thread_local std::vector<std::weak_ptr<Tape*>> listed;

/// The numbers of this thread's tapes that are running backward, the innermost last.
thread_local std::vector<uint64_t> running;

/// Notes one while it runs.
struct Running {
  explicit Running(uint64_t tape) { running.push_back(tape); }
  ~Running() { running.pop_back(); }
};

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

uint64_t Tape::next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

Tape::~Tape() {
  place_.reset();
  while (!entries_.empty()) entries_.pop_back();
}

Tape::Recorded::Recorded(const Tensor& tensor, bool learns) : tensor_(tensor), learns_(learns) {
  if (learns && !claim(*tensor.storage_))
    fail(
        "tape: a tensor of shape ", tensor.shape(),
        " is recorded on a live tape of another thread; expected one thread at a time to train it");
  ++tensor.storage_->value->recorded;
}

Tape::Recorded::~Recorded() {
  if (!tensor_.defined()) return;  // it was moved
  --tensor_.storage_->value->recorded;
  if (learns_) --tensor_.storage_->gradient_thread;
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

/// Whether no gradient would go on from the input to what it was computed from. It does from what a
/// tape has recorded that is running backward now.
bool Tape::is_foreign(const Tensor& input) const {
  const Storage& made = *input.storage_;
  return made.requires_gradient && made.tape != 0 && made.tape != number_ &&
         std::ranges::find(running, made.tape) == running.end();
}

/// Throws where the output depends on what another tape has computed.
void Tape::check_edges(const Tensor& output) const {
  std::unordered_set<const Storage*> needed{output.storage_.get()};
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (!needed.contains(entry->output.tensor().storage_.get())) continue;
    for (const Recorded& input : entry->inputs) {
      const Tensor& x = input.tensor();
      require(!is_foreign(x), "backward: an input of shape ", x.shape(),
              " was computed on another tape, where its gradient would end; record both on one "
              "tape, or detach() it");
      needed.insert(x.storage_.get());
    }
  }
}

void Tape::pass_over(const Tensor& output, std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs)
    if (input && input->defined() && (input->requires_gradient() || input->storage_->computed))
      output.storage_->computed = true;
}

/// Gives all inputs of an op a gradient of 0: its output has no element on which one would matter.
void Tape::pass_nothing(const Entry& entry) {
  for (const Recorded& input : entry.inputs) cleared(input.tensor().gradient_sink());
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
  accumulate(output.gradient_sink(), cotangent);
  while (!entries_.empty()) {
    Entry& entry = entries_.back();
    if (Tensor gradient = entry.output.tensor().gradient(); gradient.defined())
      gradient.count() == 0 ? pass_nothing(entry) : entry.backward(gradient);
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
