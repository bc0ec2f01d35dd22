#include "core/machine/openblas.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/machine/blas.h"
#include "tests/support/products.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

TEST_CASE("gemm: sizes and strides beyond BLAS' integers are refused") {
  constexpr int64_t too_large = int64_t{1} << 31;
  Scalar one = 1;
  ConstMatrix tall{&one, too_large, 1, 1, 1}, wide{&one, 1, 9, 9, 1};
  CHECK(refusal([&] {
          gemm(1, tall, wide, 0, {&one, too_large, 9, 9, 1});
        }) == "gemm: a size or stride of 2147483648: BLAS takes at most 2147483647");
  ConstMatrix far{&one, 9, 9, too_large, 1}, small{&one, 9, 9, 9, 1};
  CHECK(refusal([&] {
          gemm(1, far, small, 0, {&one, 9, 9, 9, 1});
        }) == "gemm: a size or stride of 2147483648: BLAS takes at most 2147483647");
}

// Which kernels OpenBLAS has, and how it chooses among them, is about x86's instruction sets from
// here on.
#ifdef __x86_64__

// Run by the test below in a process where OpenBLAS started with its oldest kernels.
TEST_CASE("openblas: on a CPU it does not know" * doctest::skip()) {
  REQUIRE(openblas_core() == "Prescott");
  unsetenv("OPENBLAS_CORETYPE");
  recognise_new_cpu();
  CHECK(openblas_core() == "SkylakeX");
  CHECK(std::getenv("OPENBLAS_CORETYPE") == nullptr);
  Operand a(100, 90, Order::rows, 1), b(90, 80, Order::columns, 2), c(100, 80, Order::rows, 3);
  check_gemm(serial_gemm, 1, a, b, 1, c);
}

namespace {

/// Runs cases in a process of their own where OpenBLAS has the kernels of another CPU.
bool pass_with_kernels(const std::string& core, const std::string& cases) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string command = "OPENBLAS_CORETYPE=" + core + " '" + program +
                        "' --no-skip --minimal --test-case='" + cases + "'";
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("openblas: a new CPU is recognised, and a choice of the user's stands") {
  if (!__builtin_cpu_supports("avx512vl")) return;
  CHECK(pass_with_kernels("Prescott", "openblas: on a CPU*"));
}

// Run by the test below in processes where the environment names kernels, without AVX-512 and with
// it.
TEST_CASE("openblas: kept from AVX-512" * doctest::skip()) {
  CHECK(openblas_complaint().value_or("").starts_with("OPENBLAS_CORETYPE=Haswell keeps OpenBLAS"));
}
TEST_CASE("openblas: free to use AVX-512" * doctest::skip()) {
  CHECK(openblas_complaint() == std::nullopt);
}

TEST_CASE("openblas: a complaint where the environment keeps it from AVX-512, and only there") {
  if (!__builtin_cpu_supports("avx512vl")) return;
  CHECK(pass_with_kernels("Haswell", "openblas: kept*"));
  CHECK(pass_with_kernels("SkylakeX", "openblas: free*"));
}

TEST_CASE("openblas: large products with the kernels of a CPU without AVX-512") {
  if (!__builtin_cpu_supports("avx2")) return;
  CHECK(pass_with_kernels("Haswell", "gemm: beyond*"));
}

#endif
