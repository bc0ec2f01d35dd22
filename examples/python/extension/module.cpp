// The extension shiftgrad._extension, with a module of functions for each precision.

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <filesystem>

#include "bind.h"
#include "core/errors.h"
#include "core/machine/allocator.h"
#include "core/machine/host_threads.h"
#include "core/machine/parallel.h"
#include "fingerprint.h"
#include "runs.h"
#include "session.h"

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

/// Makes an error the one that Python raises. The text may have bytes that are no UTF-8, as the
/// name of a file may.
void set_error(PyObject* kind, const std::exception& error) {
  const char* what = error.what();
  PyObject* line =
      PyUnicode_DecodeUTF8(what, static_cast<Py_ssize_t>(std::strlen(what)), "backslashreplace");
  if (!line) return;  // Python has an error of its own
  PyErr_SetObject(kind, line);
  Py_DECREF(line);
}

/// Reads so much that others may run meanwhile.
uint64_t fingerprint_at(uintptr_t address, size_t bytes) {
  nb::gil_scoped_release unlocked;
  return shiftgrad::fingerprint(reinterpret_cast<const void*>(address), bytes);
}

}  // namespace

NB_MODULE(_extension, module) {
  // PyTorch without NumPy keeps the traceback of that import, and with it all that the main script
  // has: nanobind would call it leaked at the end.
  nb::set_leak_warnings(false);
  shiftgrad::initialize();
  share_threads_of_torch();
  shiftgrad::prepare_for_forks();
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const shiftgrad::OutOfMemory& refusal) {
      set_error(PyExc_MemoryError, refusal);
    } catch (const shiftgrad::Error& refusal) {
      set_error(PyExc_ValueError, refusal);
    } catch (const std::filesystem::filesystem_error& failure) {
      set_error(PyExc_OSError, failure);
    }
  });
  nb::module_ float32 = module.def_submodule("float32");
  nb::module_ float64 = module.def_submodule("float64");
  bind_float32(float32);
  bind_float64(float64);
  bind_runs(module);
  module.attr("__version__") = SHIFTGRAD_VERSION;
  // Before anybody sets a limit: that of PyTorch takes part in no quota.
  module.attr("default_threads") = shiftgrad::thread_count();
  module.def("fingerprint", fingerprint_at);
  module.def("empty_cache", shiftgrad::release_cached);
  module.def("cached_bytes", [] { return shiftgrad::allocator_counters().bytes_cached; });
}
