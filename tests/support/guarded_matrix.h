#pragma once

// A matrix of floats beside memory that nobody may read.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/random.h"
#include "tests/support/products.h"

namespace shiftgrad::test {

/// Which end of a matrix touches memory that must not be read.
enum class Edge { front, back };

/// Random numbers between two pages that nobody may read: the first or the last of them touches
/// one.
class GuardedMatrix {
 public:
  GuardedMatrix(int64_t rows, int64_t columns, Order order, uint64_t seed, Edge edge = Edge::back) {
    auto [row_stride, column_stride] = Operand::strides(rows, columns, order);
    bool empty = rows == 0 || columns == 0;
    count_ = empty ? 0 : (rows - 1) * row_stride + (columns - 1) * column_stride + 1;
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t bytes = static_cast<size_t>(count_) * sizeof(float);
    size_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    memory_ =
        static_cast<char*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    if (inside > 0) REQUIRE(mprotect(memory_ + page, inside, PROT_READ | PROT_WRITE) == 0);
    char* begin = memory_ + page + (edge == Edge::back ? inside - bytes : 0);
    view = {reinterpret_cast<float*>(begin), rows, columns, row_stride, column_stride};
    Random random{seed};
    for (int64_t n = 0; n < count_; ++n)
      view.data[n] = static_cast<float>(2 * random.uniform() - 1);
  }
  ~GuardedMatrix() { munmap(memory_, mapped_); }
  GuardedMatrix(const GuardedMatrix&) = delete;
  GuardedMatrix& operator=(const GuardedMatrix&) = delete;

  std::vector<float> numbers() const { return {view.data, view.data + count_}; }
  void set(const std::vector<float>& numbers) {
    std::copy(numbers.begin(), numbers.end(), view.data);
  }
  void fill(float value) { std::fill(view.data, view.data + count_, value); }

  Matrix view;

 private:
  int64_t count_;
  size_t mapped_;
  char* memory_;
};

}  // namespace shiftgrad::test
