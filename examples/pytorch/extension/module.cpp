// The extension shiftgrad._extension, with a module of functions for each precision.

#include "bind.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/machine/parallel.h"

namespace nb = nanobind;

NB_MODULE(_extension, module) {
  shiftgrad::initialize();
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const shiftgrad::Error& refusal) {
      PyErr_SetString(PyExc_ValueError, refusal.what());
    }
  });
  nb::module_ float32 = module.def_submodule("float32");
  nb::module_ float64 = module.def_submodule("float64");
  bind_float32(float32);
  bind_float64(float64);
}
