// Which tape of a thread records, and what must not be recorded: what another thread trains, and
// what another tape has computed.

#include <atomic>
#include <unordered_set>
#include <utility>

#include "core/errors.h"
#include "core/machine/this_thread.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// A tape of this thread, or a null for a pause. Its place has expired when it has ended.
struct Listed {
  std::weak_ptr<Tape*> place;
  Listed* older;
};

/// The newest of this thread's tapes and pauses. It is a bare pointer, which is never destroyed: a
/// tape may live in any destructor that runs as its thread or the program ends.
constinit thread_local Listed* newest = nullptr;

/// Drops those that `is_dropped` says from this thread's list.
void drop(auto is_dropped) {
  for (Listed** link = &newest; *link;)
    if (is_dropped(**link))
      delete std::exchange(*link, (*link)->older);
    else
      link = &(*link)->older;
}

void drop_ended() {
  drop([](const Listed& listed) { return listed.place.expired(); });
}

/// Gives back, as this thread ends, what is listed of tapes that live on.
void drop_all_at_end_of_thread() {
  struct End {
    ~End() {
      drop([](const Listed&) { return true; });
    }
  };
  constinit thread_local bool is_known = false;
  if (std::exchange(is_known, true)) return;
  thread_local End end;
}

constexpr uint64_t entries_of(uint64_t gradient_thread) { return gradient_thread & 0xffffffff; }

/// Counts one more entry that reads these values for a gradient, unless those of another thread do.
bool claim(Storage& storage) {
  uint64_t now = storage.gradient_thread, claimed = 0;
  do {
    if (entries_of(now) > 0 && now >> 32 != this_thread()) return false;
    claimed = (uint64_t{this_thread()} << 32) + entries_of(now) + 1;
  } while (!storage.gradient_thread.compare_exchange_weak(now, claimed));
  return true;
}

}  // namespace

std::shared_ptr<Tape*> Tape::place(Tape* tape) {
  drop_all_at_end_of_thread();
  std::shared_ptr<Tape*> place(new Tape*(tape), [](Tape** ended) {
    delete ended;
    drop_ended();
  });
  newest = new Listed{place, newest};
  return place;
}

Tape* Tape::current() {
  while (newest) {
    if (auto place = newest->place.lock()) return *place;
    drop_ended();
  }
  return nullptr;
}

uint64_t Tape::next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

Tape::Running*& Tape::Running::innermost() {
  constinit thread_local Running* newest_running = nullptr;
  return newest_running;
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

/// Whether no gradient would go on from the input to what it was computed from. It does from what a
/// tape has recorded that is running backward now.
bool Tape::is_foreign(const Tensor& input) const {
  const Storage& made = *input.storage_;
  if (!input.requires_gradient() || made.tape == 0 || made.tape == number_) return false;
  for (const Running* running = Running::innermost(); running; running = running->outer)
    if (running->tape == made.tape) return false;
  return true;
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
