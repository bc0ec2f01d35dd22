#pragma once

#include <string>
#include <vector>

#include "core/machine/precision.h"

namespace shiftgrad::bench {

/// What one kind of work reaches on this machine, in GF/s, or 0 where the CPU has no instruction
/// for it.
struct Peak {
  std::string name;
  double one_thread, all_threads;
};

/// The limits of the machine: multiply-adds of floats, of bfloat16 pairs in vectors and in AMX's
/// tiles, and what OpenBLAS makes of a large product of floats.
struct Peaks {
  Peak floats, bfloat16_pairs, bfloat16_tiles, sgemm;

  /// Returns what shares of the peak refer to: multiply-adds on all threads, of floats, or sgemm
  /// where these are not measured; in bfloat16, the fastest ones that the CPU has.
  double limit(Precision precision) const;
  /// Returns the peaks that this CPU has.
  std::vector<Peak> list() const;
};

/// Measures each peak on one thread, and on as many as the cases use.
Peaks measure_peaks();

/// Returns the name, the family and the model of the CPU, as /proc/cpuinfo has them.
std::string cpu_name();

}  // namespace shiftgrad::bench
