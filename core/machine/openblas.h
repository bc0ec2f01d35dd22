#pragma once

#include <string>

namespace shiftgrad {

/// Makes every later OpenBLAS call of this process run on the thread that makes it.
void use_one_openblas_thread();

/// Makes OpenBLAS choose its kernels again if the CPU has AVX-512 and OpenBLAS did not see it.
/// OpenBLAS chooses by CPU model, and a version older than the CPU falls back to the kernels of
/// 2004 (Prescott), at a quarter of the speed. A choice of the user's (OPENBLAS_CORETYPE) stands.
/// No BLAS call may run meanwhile.
void recognise_new_cpu();

/// Whether OpenBLAS has, for this CPU, products that read both matrices where they lie, at the
/// CPU's limit. Other products copy the matrices together first, which takes a tenth to a fifth of
/// their time. OpenBLAS reads in place for up to a million multiplications, and is good at it when
/// the rows of the right matrix are dense. (OpenBLAS: SMALL_MATRIX_OPT)
bool openblas_reads_in_place();

/// The CPU model whose kernels OpenBLAS uses, by OpenBLAS' own name: "Zen", "SkylakeX".
std::string openblas_core();

}  // namespace shiftgrad
