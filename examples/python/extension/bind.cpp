// The functions that Python calls, for one precision: torch's tensors go in and come out without a
// copy, and Python's lock is released while the library computes.

#include "bind.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>

#include "core/errors.h"
#include "described.h"
#include "model_program.h"
#include "ops/shape.h"
#include "recording.h"
#include "session.h"
#include "torch_tensors.h"

namespace nb = nanobind;

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns a torch.Tensor over memory that `owner` keeps. PyTorch takes it fastest from a bare
/// capsule.
template <class T, class Owner>
nb::object to_torch(T* data, const Dims& shape, const Dims& strides, Owner owner) {
  auto* keeper = new Owner(std::move(owner));
  nb::capsule capsule(keeper,
                      [](void* kept_owner) noexcept { delete static_cast<Owner*>(kept_owner); });
  std::vector<size_t> sizes(shape.begin(), shape.end());
  nb::ndarray<T> array(data, sizes.size(), sizes.data(), capsule, strides.begin());
  return nb::module_::import_("torch.utils.dlpack").attr("from_dlpack")(array);
}

/// Returns a torch.Tensor over the values of a tensor, which keeps no gradient of these alive.
nb::object to_torch(const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  auto* data = const_cast<Scalar*>(tensor.data());
  return to_torch(data, layout.shape, layout.strides, tensor.detach());
}

/// Returns the names of a call's tensors. A program is made for them where one is asked for.
TensorName names_of(const std::string& name, const std::string& config) {
  return [&](size_t n) { return make_program(name, config)->tensor_name(n); };
}

/// What `forward` returns to Python: the output, and a ticket for its backward pass or None.
nb::tuple forward(const std::string& name, const std::string& config, nb::list tensors,
                  nb::handle key_padding_mask, nb::handle attention_mask,
                  std::optional<uint64_t> seed, const std::string& precision,
                  const std::vector<bool>& wanted, int threads) {
  require(wanted.empty() || wanted.size() == tensors.size(), name, ": gradients are wanted of ",
          wanted.size(), " tensors, given ", tensors.size());
  TensorName tensor_name = names_of(name, config);
  std::vector<Place> found = places(tensors, tensor_name);
  std::vector<Tensor> inputs = seen(tensors, found, wanted, tensor_name);
  for (size_t n = 0; n < wanted.size(); ++n)
    if (wanted[n]) inputs[n].require_gradient();
  Context context{.training = seed.has_value(), .random = {.seed = seed.value_or(0)}};
  context.key_padding_mask = mask(key_padding_mask, name, "key_padding_mask");
  context.attention_mask = mask(attention_mask, name, "attention_mask");
  Tensor output;
  std::shared_ptr<uint8_t> ticket;
  {
    nb::gil_scoped_release unlocked;
    Session session(threads, precision);
    BorrowedProgram program(name, config);
    auto run = [&] { return program->run(inputs, context); };
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) {
      output = run();
    } else {
      auto recording = std::make_unique<Recording>(inputs, run);
      recording->places = std::move(found);
      output = recording->output();
      ticket = deposit(std::move(recording));
    }
  }
  nb::object result = to_torch(output);
  if (!ticket) return nb::make_tuple(result, nb::none());
  uint8_t* byte = ticket.get();
  return nb::make_tuple(result, to_torch(byte, {1}, {1}, std::move(ticket)));
}

/// Returns the gradients of the wanted tensors, or None where the ticket's tape is gone, or where
/// the output or one of the tensors is not where the tape would read it.
nb::object backward(const std::string& name, nb::handle ticket, nb::handle gradient,
                    nb::handle output, nb::list tensors, const std::string& precision,
                    int threads) {
  std::unique_ptr<Recording> recording = take(address(ticket));
  if (!recording) return nb::none();
  auto number = [&](size_t n) { return text(name, ": tensor ", n); };
  const Tensor& known = recording->output();
  if ((known.count() > 0 && known.data() != address(output)) ||
      recording->places != places(tensors, number))
    return nb::none();
  Tensor cotangent = seen(gradient, text(name, ": the gradient"));
  std::vector<Tensor> gradients;
  {
    nb::gil_scoped_release unlocked;
    Session session(threads, precision);
    gradients = recording->backward(cotangent);
    recording.reset();
  }
  nb::list result;
  for (const Tensor& each : gradients) result.append(to_torch(each));
  return result;
}

/// Returns what the attentions of a call make of their scores: [B, H, T, K] of each, before dropout,
/// and [B, T, K, C] of AFT.
nb::list attention_weights(const std::string& name, const std::string& config, nb::list tensors,
                           nb::handle key_padding_mask, nb::handle attention_mask,
                           const std::string& precision, int threads) {
  TensorName tensor_name = names_of(name, config);
  std::vector<Tensor> inputs = seen(tensors, places(tensors, tensor_name), {}, tensor_name);
  Context context;
  context.key_padding_mask = mask(key_padding_mask, name, "key_padding_mask");
  context.attention_mask = mask(attention_mask, name, "attention_mask");
  std::vector<Tensor> recorded;
  context.recorder = [&](const Tensor& each) { recorded.push_back(contiguous(each)); };
  {
    nb::gil_scoped_release unlocked;
    Session session(threads, precision);
    BorrowedProgram(name, config)->run(inputs, context);
  }
  nb::list result;
  for (const Tensor& each : recorded) result.append(to_torch(each));
  return result;
}

nb::list initial_parameters(const std::string& name, const std::string& config, uint64_t seed) {
  nb::list result;
  for (const Parameter& parameter : make_program(name, config, seed)->initial_parameters())
    result.append(nb::make_tuple(parameter.name, to_torch(parameter.value)));
  return result;
}

/// Sets the values that a dict has under their names.
struct Options {
  nb::dict given;

  template <class Value>
  void operator()(const char* name, Value& value) const {
    if (given.contains(name)) value = nb::cast<Value>(given[name]);
  }
};

Generation generation_from(const Options& option) {
  Generation result;
  option("length", result.text.length);
  option("temperature", result.text.sampling.temperature);
  option("top_k", result.text.sampling.top_k);
  option("top_p", result.text.sampling.top_p);
  option("min_p", result.text.sampling.min_p);
  option("repetition_penalty", result.text.sampling.repetition_penalty);
  option("repetition_window", result.text.sampling.repetition_window);
  option("seed", result.text.seed);
  option("mem_len", result.text.mem_len);
  option("positions", result.text.positions);
  option("stop", result.text.stop);
  option("max_length", result.targets.max_length);
  option("begin", result.targets.begin);
  option("end", result.targets.end);
  option("beam", result.beam.width);
  option("length_penalty", result.beam.length_penalty);
  return result;
}

/// Lets Python end what takes long, as by control-C.
void hear_signals() {
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Returns the tokens that a model writes, a list for each prompt or source.
std::vector<std::vector<int32_t>> generated(const std::string& name, const std::string& config,
                                            nb::list tensors, nb::handle key_padding_mask,
                                            nb::dict options, const std::string& precision,
                                            int threads) {
  TensorName tensor_name = names_of(name, config);
  std::vector<Tensor> inputs = seen(tensors, places(tensors, tensor_name), {}, tensor_name);
  Context context;
  context.key_padding_mask = mask(key_padding_mask, name, "key_padding_mask");
  Generation generation = generation_from({options});
  generation.on_token = hear_signals;
  nb::gil_scoped_release unlocked;
  Session session(threads, precision);
  return BorrowedProgram(name, config)->generate(inputs, context, generation);
}

/// A layer's memory of the tokens that it has seen, for one stream of tokens.
class Stream {
 public:
  Stream(const std::string& name, const std::string& config, std::optional<int64_t> limit)
      : program_(make_program(name, config)),
        cache_(program_->make_cache(limit.value_or(unlimited))) {}
  Stream(const Stream& other) : program_(other.program_), mutex_(other.mutex_) {
    nb::gil_scoped_release unlocked;
    std::lock_guard lock(*mutex_);
    cache_ = other.cache_->clone();
  }
  Stream(Stream&&) = default;

  nb::object step(nb::list tensors, nb::handle key_padding_mask, nb::handle attention_mask,
                  const std::string& precision, int threads) {
    auto name = [this](size_t n) { return program_->tensor_name(n); };
    std::vector<Tensor> inputs = seen(tensors, places(tensors, name), {}, name);
    Context context;
    context.key_padding_mask = mask(key_padding_mask, program_->name(), "key_padding_mask");
    context.attention_mask = mask(attention_mask, program_->name(), "attention_mask");
    Tensor output;
    {
      nb::gil_scoped_release unlocked;
      Session session(threads, precision);
      // The cache may keep x itself, which torch may change.
      inputs[0] = Tensor::from(inputs[0].shape(), inputs[0].values());
      std::lock_guard lock(*mutex_);
      output = program_->step(inputs, *cache_, context);
    }
    return to_torch(output);
  }

 private:
  // A cache belongs to the program that started it, and so do its copies. The program takes one
  // step at a time, whosever it is.
  std::shared_ptr<Program> program_;
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::unique_ptr<Cache> cache_;
};

}  // namespace

}  // namespace shiftgrad::SHIFTGRAD_PRECISION

#ifdef SHIFTGRAD_DOUBLE
void bind_float64(nb::module_& module) {
#else
void bind_float32(nb::module_& module) {
#endif
  using namespace shiftgrad;
  module.def("forward", forward, nb::arg("name"), nb::arg("config"), nb::arg("tensors"),
             nb::arg("key_padding_mask").none(), nb::arg("attention_mask").none(),
             nb::arg("seed").none(), nb::arg("precision"), nb::arg("wanted"), nb::arg("threads"));
  module.def("backward", backward);
  module.def("attention_weights", attention_weights, nb::arg("name"), nb::arg("config"),
             nb::arg("tensors"), nb::arg("key_padding_mask").none(),
             nb::arg("attention_mask").none(), nb::arg("precision"), nb::arg("threads"));
  module.def("initial_parameters", initial_parameters);
  module.def("described", described);
  module.def("generate", generated, nb::arg("name"), nb::arg("config"), nb::arg("tensors"),
             nb::arg("key_padding_mask").none(), nb::arg("options"), nb::arg("precision"),
             nb::arg("threads"));
  nb::class_<Stream>(module, "Stream")
      .def(nb::init<const std::string&, const std::string&, std::optional<int64_t>>(),
           nb::arg("name"), nb::arg("config"), nb::arg("limit").none())
      .def("step", &Stream::step, nb::arg("tensors"), nb::arg("key_padding_mask").none(),
           nb::arg("attention_mask").none(), nb::arg("precision"), nb::arg("threads"))
      .def("__copy__", [](const Stream& stream) { return Stream(stream); })
      .def("__deepcopy__", [](const Stream& stream, nb::handle) { return Stream(stream); });
}
