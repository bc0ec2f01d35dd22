#pragma once

#include <optional>
#include <string>

namespace shiftgrad {

/// Makes every later OpenBLAS call of this process run on the thread that makes it.
void use_one_openblas_thread();

/// Makes OpenBLAS choose its kernels again if the CPU has AVX-512 and OpenBLAS did not see it.
/// OpenBLAS chooses by CPU model, and a version older than the CPU falls back to the kernels of
/// 2004 (Prescott), at a quarter of the speed. A choice of the user's (OPENBLAS_CORETYPE) stands.
/// No BLAS call may run meanwhile.
void recognise_new_cpu();

/// Whether this CPU is faster at a large product in pieces of at most a million multiplications.
/// With its AVX-512 kernels, OpenBLAS reads the matrices of such a piece where they lie, best if
/// the rows of the right one are dense (OpenBLAS: SMALL_MATRIX_OPT). It copies those of a larger
/// product together first, which takes Zen 4, with AVX-512 at half width, a tenth to a fifth of the
/// time. A core at full width loses more by the pieces: Zen 5 multiplies 60 x 64 x 256 at 0.6 to
/// 0.8 times the speed of whole products.
bool openblas_is_faster_in_pieces();

/// Whether this CPU multiplies floats faster by our panels (core/machine/kernel.h) than by
/// OpenBLAS. On Intel's Emerald Rapids, with AVX-512, two threads make the products of models of
/// 128 to 384 channels at 0.98 to 1.26 times the speed of Debian's OpenBLAS 0.3.21, and one thread
/// at 1.01 to 1.13; gradients of weights at 0.91 to 0.98 on one when both factors were packed, and
/// at 0.95 to 1.17 where they lie. On Zen 5, one thread makes those of a model of 128 channels at
/// 1.15 times the speed. On Zen 3 (AVX2) panels make 0.90 to 1.07 of its speed, and others were not
/// measured. It is true in a build without OpenBLAS.
bool panels_beat_openblas();

/// Says in one line that the environment keeps OpenBLAS from this CPU's AVX-512, what that costs
/// and how to undo it. Returns nothing where all is well.
std::optional<std::string> openblas_complaint();

/// The CPU model whose kernels OpenBLAS uses, by OpenBLAS' own name: "Zen", "SkylakeX". It is
/// "none" in a build without OpenBLAS.
std::string openblas_core();

}  // namespace shiftgrad
