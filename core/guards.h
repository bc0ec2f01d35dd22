#pragma once

// The rules without which a gradient could be silently wrong, and what is counted to keep them.
// Whoever breaks one gets an error. Storages, tensors and tapes call each rule in one line.

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/layout.h"
#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

class Tape;

/// The readers of values. Nobody may write while there are any, since a backward pass or a packed
/// product would go on with other numbers.
struct Readers {
  /// The number of entries of live tapes that made or read the values, through any storage and on
  /// any thread.
  std::atomic<int> recorded = 0;
  /// The number of packed copies (core/packed_weights.h), on any thread.
  std::atomic<int> packed = 0;

  /// Throws, and names the shape that would be written, while there are any.
  void check_write(const Dims& shape) const;
};

/// Where values come from, and which thread trains them.
struct Lineage {
  /// Whether an op made the values from something that requires a gradient, on a tape or on none.
  /// PyTorch: not is_leaf.
  bool computed = false;
  /// The number of the tape that recorded how they were computed; 0 for none.
  uint64_t tape = 0;
  /// The number of Frozen that live, on any thread. While there are any, ops compute no gradient.
  std::atomic<int> frozen = 0;
  /// The thread whose live tapes have read these values for a gradient, and in its lower half the
  /// number of their entries that did. Two threads at a time would mix their gradients.
  std::atomic<uint64_t> training_thread = 0;
};

/// A place in the list of a thread's tapes and pauses, of which the newest that lives says what is
/// recorded. They may end in any order and on any thread: the list drops what has ended when
/// somebody next looks.
class RecordingPlace {
 public:
  /// Adds a tape to this thread's list, or null, which is a pause.
  explicit RecordingPlace(Tape* tape);
  /// Takes it out of the list.
  void end() { place_.reset(); }

  /// The newest tape of this thread, or null.
  static Tape* newest();

 private:
  std::shared_ptr<Tape*> place_;
};

/// A tape that runs backward on this thread, which it does while this lives. Gradients go on to
/// what the same tape has recorded, or one that runs around it, and end at any other.
struct RunningBackward {
  /// Begins for the tape of this number.
  explicit RunningBackward(uint64_t number);
  RunningBackward(const RunningBackward&) = delete;
  ~RunningBackward();

  /// Whether the tape of this number runs backward on this thread.
  static bool includes(uint64_t number);

  /// The number of the tape.
  uint64_t tape;
  /// The one around it, or null.
  const RunningBackward* outer;
};

/// Returns a number for a tape, which no other has.
uint64_t next_tape_number();

/// Throws unless a view shows elements of its storage, of which there are `size`, and none of them
/// twice but by broadcasting: a gradient could not be accumulated into it.
void check_view(const Layout& layout, int64_t size);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
