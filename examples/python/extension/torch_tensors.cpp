#include "torch_tensors.h"

#include <algorithm>

#include "core/errors.h"

namespace nb = nanobind;

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// A name that Python finds fast, since it is the same object each time.
class Name {
 public:
  explicit Name(const char* text) : text_(PyUnicode_InternFromString(text)) {}
  nb::object of(nb::handle object) const { return checked(PyObject_GetAttr(object.ptr(), text_)); }
  nb::object call(nb::handle object) const {
    return checked(PyObject_CallMethodObjArgs(object.ptr(), text_, nullptr));
  }

 private:
  static nb::object checked(PyObject* result) {
    if (!result) nb::raise_python_error();
    return nb::steal(result);
  }
  PyObject* text_;
};

Dims dims(nb::handle tuple) {
  Dims result;
  for (Py_ssize_t n = 0; n < PyTuple_Size(tuple.ptr()); ++n)
    result.push_back(nb::cast<int64_t>(nb::handle(PyTuple_GetItem(tuple.ptr(), n))));
  return result;
}

/// Keeps a Python object until the last copy is gone, on whatever thread.
std::shared_ptr<const void> kept(nb::handle object) {
  return {object.inc_ref().ptr(), [](PyObject* kept_object) {
            if (!Py_IsInitialized()) return;
            nb::gil_scoped_acquire lock;
            Py_DECREF(kept_object);
          }};
}

Place place(nb::handle tensor) {
  if (tensor.is_none()) return {};
  static const Name shape("shape"), stride("stride"), dtype("dtype"), is_neg("is_neg");
  Place result{.shape = dims(shape.of(tensor)),
               .strides = dims(stride.call(tensor)),
               .dtype = dtype.of(tensor).ptr(),
               .negated = is_neg.call(tensor).is(Py_True)};
  if (product(result.shape) > 0) result.address = address(tensor);
  return result;
}

/// Calls `read` and returns what it returns. Gives what PyTorch has against it the name of the
/// tensor.
template <class Read>
auto in_name_of_tensor(const std::function<std::string()>& name, Read read) {
  try {
    return read();
  } catch (nb::python_error& error) {
    std::string why = nb::str(error.value()).c_str();
    why.resize(std::min(why.size(), why.find('\n')));
    if (why.find("DefaultCPUAllocator") != std::string::npos)  // of which PyTorch has no type
      throw OutOfMemory(text(name(), ": ", why));
    throw nb::type_error(text(name(), " has no memory to read: ", why).c_str());
  }
}

/// Whether the values are in memory as the layout says.
bool is_plain(const Place& place) {
  return !place.negated && (place.address || product(place.shape) == 0);
}

/// Whether the elements fill their memory, each once, in any order of the axes.
bool is_dense(const Layout& layout) {
  return layout.is_contiguous() || (layout.fits(layout.count()) && layout.covers(layout.count()));
}

/// Returns a copy whose values are in memory.
nb::object plain_copy(nb::handle tensor, const Place& place,
                      const std::function<std::string()>& name) {
  if (!place.address && !nb::cast<bool>(tensor.attr("_is_zerotensor")()))
    fail(name(), " has no memory: its storage has 0 bytes, or it only stands for another tensor");
  return in_name_of_tensor(name, [&] { return nb::object(tensor.attr("clone")()); });
}

Tensor seen(nb::handle tensor, const Place& place, bool wanted,
            const std::function<std::string()>& name) {
  if (!place.dtype) return {};
  if (product(place.shape) == 0) return Tensor::empty(place.shape);
  Layout layout{place.shape, place.strides};
  if (!is_plain(place) || (wanted && !is_dense(layout)) || layout.overlaps()) {
    nb::object copy = plain_copy(tensor, place, name);
    return seen(copy, shiftgrad::SHIFTGRAD_PRECISION::place(copy), false, name);
  }
  auto* first = static_cast<Scalar*>(const_cast<void*>(place.address));
  return Tensor::over(first, layout, kept(tensor));
}

}  // namespace

const void* address(nb::handle tensor) {
  static const Name data_ptr("data_ptr");
  return reinterpret_cast<const void*>(nb::cast<uintptr_t>(data_ptr.call(tensor)));
}

std::vector<Place> places(nb::list tensors, const TensorName& name) {
  std::vector<Place> result;
  result.reserve(tensors.size());
  for (size_t n = 0; n < tensors.size(); ++n)
    result.push_back(in_name_of_tensor([&] { return name(n); }, [&] { return place(tensors[n]); }));
  return result;
}

std::vector<Tensor> seen(nb::list tensors, const std::vector<Place>& places,
                         const std::vector<bool>& wanted, const TensorName& name) {
  std::vector<Tensor> result;
  result.reserve(places.size());
  for (size_t n = 0; n < places.size(); ++n)
    result.push_back(
        seen(tensors[n], places[n], n < wanted.size() && wanted[n], [&] { return name(n); }));
  return result;
}

Tensor seen(nb::handle tensor, const std::string& name) {
  auto named = [&] { return name; };
  Place found = in_name_of_tensor(named, [&] { return place(tensor); });
  return seen(tensor, found, false, named);
}

std::shared_ptr<const Mask> mask(nb::handle tensor, const std::string& layer, const char* name) {
  if (tensor.is_none()) return nullptr;
  auto named = [&] { return text(layer, ": ", name); };
  Place found = in_name_of_tensor(named, [&] { return place(tensor); });
  nb::object copy = nb::borrow(tensor);
  if (!is_plain(found)) copy = plain_copy(copy, found, named);
  if (!Layout{found.shape, found.strides}.is_contiguous()) copy = copy.attr("contiguous")();
  auto* first = static_cast<const uint8_t*>(address(copy));
  return std::make_shared<Mask>(Mask{found.shape, {first, first + product(found.shape)}});
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
