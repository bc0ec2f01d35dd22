// Which tape of a thread records, and what must not be recorded: what another thread trains, and
// what another tape has computed.

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "core/errors.h"
#include "core/machine/thread_variable.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The tapes of this thread, and nulls for pauses, from the oldest to the newest. Those that have
/// ended have expired.
using Listed = std::vector<std::weak_ptr<Tape*>>;

/// The numbers of this thread's tapes that are running backward, the innermost last.
using RunningTapes = std::vector<uint64_t>;

thread_local ThreadVariable<Listed> listed;
thread_local ThreadVariable<RunningTapes> running;

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
  std::erase_if(listed.value, [](const auto& known) { return known.expired(); });
  auto place = std::make_shared<Tape*>(tape);
  listed.value.push_back(place);
  return place;
}

Tape* Tape::current() {
  for (; !listed.value.empty(); listed.value.pop_back())
    if (auto newest = listed.value.back().lock()) return *newest;
  return nullptr;
}

uint64_t Tape::next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

Tape::Running::Running(uint64_t tape) { running.value.push_back(tape); }

Tape::Running::~Running() { running.value.pop_back(); }

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

/// Whether no gradient would go on from the input to what it was computed from. It does from what a
/// tape has recorded that is running backward now.
bool Tape::is_foreign(const Tensor& input) const {
  const Storage& made = *input.storage_;
  return input.requires_gradient() && made.tape != 0 && made.tape != number_ &&
         std::ranges::find(running.value, made.tape) == running.value.end();
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

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
