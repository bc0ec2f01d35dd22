#pragma once

#include <string>

namespace shiftgrad {

/// Lets every later OpenBLAS call of this process run on the thread that makes it.
void use_one_openblas_thread();

/// OpenBLAS chooses its kernels by CPU model, and a version older than the CPU falls back to those
/// of 2004 (Prescott), a quarter of the speed. If the CPU has AVX-512 and OpenBLAS did not see it,
/// this has it choose again; a choice of the user's (OPENBLAS_CORETYPE) stands. No BLAS call may
/// run meanwhile.
void recognise_new_cpu();

/// Whether OpenBLAS has, for this CPU, products that read both matrices where they lie, at the
/// CPU's limit. Others copy them together first, which takes a tenth to a fifth of their time. It
/// uses the former for up to a million multiplications, and is good at those whose right matrix has
/// dense rows. (OpenBLAS: SMALL_MATRIX_OPT)
bool openblas_reads_in_place();

/// The CPU model whose kernels OpenBLAS uses, as it names it: "Zen", "SkylakeX".
std::string openblas_core();

}  // namespace shiftgrad
