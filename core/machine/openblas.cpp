#include "core/machine/openblas.h"

#include <cblas.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/errors.h"

// OpenBLAS libraries that choose their kernels at run time export these, but no header has them.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

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

/// Whether this is AMD's family 25, Zen 3 and Zen 4, of which only Zen 4 has AVX-512.
bool is_amd_family_25() {
#ifdef __x86_64__
  unsigned signature = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &signature, &b, &c, &d);
  unsigned family = (signature >> 8 & 15) + (signature >> 20 & 255);
  return __builtin_cpu_is("amd") && family == 25;
#else
  return false;
#endif
}

bool is_one_of(std::span<const std::string_view> cores, std::string_view core) {
  return std::find(cores.begin(), cores.end(), core) != cores.end();
}

/// The kernels without AVX-512 that OpenBLAS falls back on for a model it does not know.
constexpr std::array<std::string_view, 5> fallbacks = {"Prescott", "Nehalem", "Sandybridge",
                                                       "Haswell", "Zen"};
/// The kernels with AVX-512.
constexpr std::array<std::string_view, 3> wide = {"SkylakeX", "Cooperlake", "SapphireRapids"};

/// The environment variable that names the kernels.
constexpr const char* choice = "OPENBLAS_CORETYPE";

}  // namespace

void use_one_openblas_thread() { openblas_set_num_threads(1); }

void recognise_new_cpu() {
  bool can_choose_again = gotoblas_dynamic_init && gotoblas_dynamic_quit;
  if (!can_choose_again || std::getenv(choice) || !has_avx512() ||
      !is_one_of(fallbacks, openblas_core()))
    return;
  setenv(choice, "SkylakeX", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(choice);
}

bool openblas_is_faster_in_pieces() {
  return is_one_of(wide, openblas_core()) && is_amd_family_25();
}

std::optional<std::string> openblas_complaint() {
  const char* chosen = std::getenv(choice);
  if (!chosen || !has_avx512() || !is_one_of(fallbacks, openblas_core())) return std::nullopt;
  return text(choice, '=', chosen, " keeps OpenBLAS from this CPU's AVX-512, which can double the ",
              "time that products take; unset it to use all of the CPU");
}

std::string openblas_core() { return openblas_get_corename(); }

}  // namespace shiftgrad
