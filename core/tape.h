#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A Wengert list: while it lives, the ops of its thread append to it how their gradients flow
/// back.
///
///     Tape tape;
///     Tensor loss = cross_entropy(model(x), targets);
///     tape.backward(loss);
///
/// The order of creation is the order of the graph, so the backward pass is one loop from the end.
/// Without a live tape nothing is recorded and nothing saved, so inference needs no switch. Tapes
/// nest; of those of a thread, the newest that lives records. A tape may end in any order and on
/// any thread. No gradient passes from one tape to another: what one has computed is an input of
/// another only after `detach`, which says so. A tape inside of a backward function is different:
/// the outer one goes on with the gradients that it gives.
///
/// Several threads may train models that share nothing that learns. An op throws, and records
/// nothing, where it reads for a gradient what a live tape of another thread has read: two threads
/// would mix their gradients.
class Tape {
 public:
  /// A function that gets the gradient of an op's output and adds to the gradients of its inputs.
  using Backward = std::function<void(const Tensor& gradient)>;

  Tape() = default;
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds ∂loss/∂x to the gradient of everything the loss was made from, freeing each entry and
  /// what it saved on the way. Throws when `loss` is not one element, depends on nothing that
  /// requires a gradient, was not recorded by this tape, or depends on what another tape has
  /// computed and nobody has detached, and when this tape has run backward already.
  void backward(const Tensor& loss);
  /// Adds the gradients of Σ output · cotangent, for an output of any shape. `after_entry`, if
  /// given, is called each time that an entry has run: the gradient of what is no longer `recorded`
  /// is then final.
  void backward(const Tensor& output, const Tensor& cotangent,
                const std::function<void()>& after_entry = {});

  /// Ends the recording before the tape ends; its backward pass may still come. The tape around it,
  /// if any, records again. (TensorFlow: GradientTape.stop_recording)
  void stop_recording() { place_.end(); }

  /// The number of entries.
  size_t size() const { return entries_.size(); }

  /// The parameters that ops have read: tensors that require a gradient and that no op made, in the
  /// shape in which each op read them, but not repeated by broadcasting.
  std::vector<Tensor> leaves() const;

  /// This thread's tape, or null.
  static Tape* current() { return RecordingPlace::newest(); }

  /// Suspends recording on this thread while it lives, for an evaluation in the middle of training.
  class Pause {
    RecordingPlace place_{nullptr};
  };

  /// Appends an entry; see `record` below.
  void append(const Tensor& output, std::span<const Tensor* const> inputs, Backward backward);
  /// Notes whether gradients would flow from an output that no tape records, so that a backward
  /// pass from there can say what is wrong.
  static void note_unrecorded(const Tensor& output, std::span<const Tensor* const> inputs);

 private:
  /// A tensor that an op made or read: while this lives, nobody may write it, and no other thread
  /// may train it (core/guards.cpp).
  struct Recorded {
    Recorded(const Tensor& x, bool wants);
    Recorded(Recorded&&) noexcept = default;
    ~Recorded();
    Tensor tensor;
    bool wants_gradient;
  };
  struct Entry {
    Recorded output;
    std::vector<Recorded> inputs;
    Backward backward;
  };
  static void zero_inputs(const Entry& entry);
  /// Whether another tape computed the input, so that its gradient would end there.
  bool is_foreign(const Tensor& input) const;
  /// Throws unless the gradients of the output can be computed (core/guards.cpp).
  void check_backward(const Tensor& output, const Tensor& cotangent) const;

  std::vector<Entry> entries_;
  uint64_t number_ = next_tape_number();
  bool has_foreign_inputs_ = false;
  bool spent_ = false;
  RecordingPlace place_{this};
};

/// Whether an op on these inputs has to be recorded: a tape is alive and one of them requires a
/// gradient. Null and undefined inputs are passed over.
bool recording(std::span<const Tensor* const> inputs);

/// Records an op; every op calls this after its forward pass. When recording, `output` requires a
/// gradient from now on, and `backward(gradient of output)` will run in the backward pass.
template <class Backward>
void record(const Tensor& output, std::span<const Tensor* const> inputs, Backward backward) {
  if (recording(inputs))
    Tape::current()->append(output, inputs, std::move(backward));
  else
    Tape::note_unrecorded(output, inputs);
}

/// Records an op whose inputs are listed where it is called.
template <class Backward>
void record(const Tensor& output, std::initializer_list<const Tensor*> inputs, Backward backward) {
  record(output, std::span(inputs.begin(), inputs.size()), std::move(backward));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
