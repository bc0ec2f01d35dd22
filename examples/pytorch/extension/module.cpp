// The extension shiftgrad._extension, with a module of functions for each precision.

#include <dlfcn.h>

#include "bind.h"
#include "core/errors.h"
#include "core/machine/allocator.h"
#include "core/machine/host_threads.h"
#include "core/machine/parallel.h"
#include "runs.h"

namespace nb = nanobind;

namespace {

/// Runs our parallel loops on PyTorch's own threads, where they are those of OpenMP; elsewhere on
/// ours. PyTorch has been imported, so the library is there already.
void share_threads_of_torch() {
  void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!torch) return;
  auto region = reinterpret_cast<shiftgrad::ParallelRegion>(dlsym(torch, "GOMP_parallel"));
  if (region) shiftgrad::use_host_threads(region);
}

}  // namespace

NB_MODULE(_extension, module) {
  // PyTorch without NumPy keeps the traceback of that import, and with it all that the main script
  // has: nanobind would call it leaked at the end.
  nb::set_leak_warnings(false);
  shiftgrad::initialize();
  share_threads_of_torch();
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
  bind_runs(module);
  module.attr("__version__") = SHIFTGRAD_VERSION;
  module.def("empty_cache", shiftgrad::release_cached);
  module.def("cached_bytes", [] { return shiftgrad::allocator_counters().bytes_cached; });
}
