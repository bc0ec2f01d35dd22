#include "core/machine/openblas.h"

#include <cblas.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "core/errors.h"
#include "core/machine/cpu.h"

// OpenBLAS libraries that choose their kernels at run time export these, but no header has them.
#ifdef __ELF__
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}
#else  // other linkers want to find them
constexpr void (*gotoblas_dynamic_init)() = nullptr;
constexpr void (*gotoblas_dynamic_quit)() = nullptr;
#endif

namespace shiftgrad {

namespace {

/// Whether OpenBLAS' AVX-512 kernels can run here.
bool has_avx512() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512cd");
#else
  return false;
#endif
}

#ifdef __x86_64__
/// The family of this AMD CPU, 25 for Zen 3 and 4, 26 for Zen 5, or 0 for another maker's. It asks
/// the CPU: in a virtual machine, where that takes microseconds, callers keep the answer.
unsigned amd_family() {
  unsigned signature = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &signature, &b, &c, &d);
  return __builtin_cpu_is("amd") ? (signature >> 8 & 15) + (signature >> 20 & 255) : 0;
}
#else
unsigned amd_family() { return 0; }
#endif

bool is_one_of(std::initializer_list<std::string_view> cores) {
  return std::ranges::find(cores, openblas_core()) != cores.end();
}

/// Whether OpenBLAS uses kernels that it falls back on for a model it does not know, on a CPU with
/// AVX-512, which these have not.
bool misses_avx512() {
  return has_avx512() && is_one_of({"Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen"});
}

/// The environment variable that names the kernels.
constexpr const char* choice = "OPENBLAS_CORETYPE";

}  // namespace

void use_one_openblas_thread() { openblas_set_num_threads(1); }

void recognise_new_cpu() {
  bool can_choose_again = gotoblas_dynamic_init && gotoblas_dynamic_quit;
  if (!can_choose_again || std::getenv(choice) || !misses_avx512()) return;
  setenv(choice, "SkylakeX", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(choice);
}

bool openblas_is_faster_in_pieces() {
  constinit static KeptAnswer is_zen_3_or_4;
  // The kernels with AVX-512, which of the two only Zen 4 has.
  return is_zen_3_or_4([] { return amd_family() == 25; }) &&
         is_one_of({"SkylakeX", "Cooperlake", "SapphireRapids"});
}

bool panels_beat_openblas() {
  constinit static KeptAnswer beat;
  return beat([] { return has_avx512() && (is_intel() || amd_family() == 26); });
}

std::optional<std::string> openblas_complaint() {
  const char* chosen = std::getenv(choice);
  if (!chosen || !misses_avx512()) return std::nullopt;
  return text(choice, '=', chosen, " keeps OpenBLAS from this CPU's AVX-512, which can double the ",
              "time that products take; unset it to use all of the CPU");
}

std::string openblas_core() { return openblas_get_corename(); }

}  // namespace shiftgrad
