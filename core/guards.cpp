#include "core/guards.h"

#include <unordered_set>
#include <utility>

#include "core/errors.h"
#include "core/machine/this_thread.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void Readers::check_write(const Dims& shape) const {
  require(recorded == 0, "in-place write: a tensor of shape ", shape,
          " is recorded on a live tape");
  require(packed == 0, "in-place write: a tensor of shape ", shape, " is kept by PackedWeights");
}

void check_view(const Layout& layout, int64_t size) {
  require(layout.fits(size), "view: shape ", layout.shape, " with strides ", layout.strides,
          " from ", layout.offset, " reaches beyond the ", size, " elements of the storage");
  layout.check("view");
  require(!layout.overlaps(), "view: shape ", layout.shape, " with strides ", layout.strides,
          " overlaps itself");
}

namespace {

constexpr uint64_t entries_of(uint64_t training_thread) { return training_thread & 0xffffffff; }

/// Counts one more entry that reads these values for a gradient, unless those of another thread do.
bool claim(Storage& storage) {
  std::atomic<uint64_t>& thread = storage.lineage.training_thread;
  uint64_t now = thread, claimed = 0;
  do {
    if (entries_of(now) > 0 && now >> 32 != this_thread()) return false;
    claimed = (uint64_t{this_thread()} << 32) + entries_of(now) + 1;
  } while (!thread.compare_exchange_weak(now, claimed));
  return true;
}

}  // namespace

Tape::Recorded::Recorded(const Tensor& x, bool wants) : tensor(x), wants_gradient(wants) {
  require(!wants || claim(*x.storage_), "tape: a tensor of shape ", x.shape(),
          " is recorded on a live tape of another thread; expected one thread at a time to train "
          "it");
  ++x.storage_->value->readers.recorded;
}

Tape::Recorded::~Recorded() {
  if (!tensor.defined()) return;  // it was moved
  --tensor.storage_->value->readers.recorded;
  if (wants_gradient) --tensor.storage_->lineage.training_thread;
}

namespace {

/// A tape of this thread, or a null for a pause. Its place has expired when it has ended.
struct Listed {
  std::weak_ptr<Tape*> place;
  Listed* older;
};

/// The newest of this thread's tapes and pauses. It is a bare pointer, which is never destroyed: a
/// tape may live in any destructor that runs as its thread or the program ends.
constinit thread_local Listed* newest_listed = nullptr;

/// Drops those that have ended from this thread's list, or all.
void drop_ended(bool all = false) {
  for (Listed** link = &newest_listed; *link;)
    if (all || (*link)->place.expired())
      delete std::exchange(*link, (*link)->older);
    else
      link = &(*link)->older;
}

/// Gives back, as this thread ends, what is listed of tapes that live on.
void drop_all_at_end_of_thread() {
  struct End {
    ~End() { drop_ended(/*all=*/true); }
  };
  constinit thread_local bool is_known = false;
  if (std::exchange(is_known, true)) return;
  thread_local End end;
}

}  // namespace

RecordingPlace::RecordingPlace(Tape* tape) {
  drop_all_at_end_of_thread();
  place_ = std::shared_ptr<Tape*>(new Tape*(tape), [](Tape** ended) {
    delete ended;
    drop_ended();
  });
  newest_listed = new Listed{place_, newest_listed};
}

Tape* RecordingPlace::newest() {
  while (newest_listed) {
    if (auto place = newest_listed->place.lock()) return *place;
    drop_ended();
  }
  return nullptr;
}

uint64_t next_tape_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

namespace {

constinit thread_local const RunningBackward* innermost = nullptr;

}  // namespace

RunningBackward::RunningBackward(uint64_t number)
    : tape(number), outer(std::exchange(innermost, this)) {}

RunningBackward::~RunningBackward() { innermost = outer; }

bool RunningBackward::includes(uint64_t number) {
  const RunningBackward* running = innermost;
  while (running && running->tape != number) running = running->outer;
  return running;
}

bool Tape::is_foreign(const Tensor& input) const {
  uint64_t tape = input.storage_->lineage.tape;
  return input.requires_gradient() && tape != 0 && tape != number_ &&
         !RunningBackward::includes(tape);
}

void Tape::check_backward(const Tensor& output, const Tensor& cotangent) const {
  require(!spent_, "backward: this tape has run backward already; record a new one");
  require_defined("backward", "the output", output, "the cotangent", cotangent);
  const Lineage& lineage = output.storage_->lineage;
  require(!lineage.computed || lineage.tape == number_,
          "backward: this tape did not record the output; make the Tape before the forward pass");
  require(output.requires_gradient(),
          "backward: the output depends on nothing that requires a gradient");
  require(output.shape() == cotangent.shape(), "backward: a cotangent of shape ", cotangent.shape(),
          " for an output of shape ", output.shape());
  if (!has_foreign_inputs_) return;
  std::unordered_set<const Storage*> needed{output.storage_.get()};
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (!needed.contains(entry->output.tensor.storage_.get())) continue;
    for (const Recorded& input : entry->inputs) {
      const Tensor& x = input.tensor;
      require(!is_foreign(x), "backward: an input of shape ", x.shape(),
              " was computed on another tape, where its gradient would end; record both on one "
              "tape, or detach() it");
      needed.insert(x.storage_.get());
    }
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
