#pragma once

#if __cplusplus < 202002L
#error "shiftgrad needs C++20: compile with -std=c++20"
#endif

#include <cmath>
#include <locale>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace shiftgrad {

/// The exception for every misuse and every bad input. Its text is one line that names the
/// operation, the value it got and what it expected: `matmul: [3, 4] x [5, 6]: inner sizes 4 and 5
/// differ`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The Error for memory that the system does not have.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Prints a part of a text. NaN has no sign: the one in its bits depends on the CPU.
template <class Part>
void print_part(std::ostream& out, const Part& part) {
  if constexpr (std::is_floating_point_v<Part>)
    if (std::isnan(part)) return void(out << "nan");
  out << part;
}

/// Joins the parts, each as `<<` prints it, to one string. It has the classic locale's numbers,
/// whatever the program's own locale is: 10.5 and 1000.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (print_part(out, parts), ...);
  return out.str();
}

/// Returns a message with \0 for each of its zero bytes, at which what() would end.
inline std::string without_zeros(const std::string& message) {
  std::string whole;
  for (char byte : message) whole += byte == 0 ? "\\0" : std::string(1, byte);
  return whole;
}

/// Throws an Error whose text is the joined parts. It is never inlined, so that what checks its
/// arguments stays small.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  throw Error(without_zeros(text(parts...)));
}

/// Throws an Error with the joined parts unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    fail(parts...);
}

/// Returns action(). Memory that runs out in it, and a size that no vector has, are an OutOfMemory
/// that begins with the joined parts; an Error stays as it is.
template <class Action, class... Parts>
auto within_memory(Action action, const Parts&... parts) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw OutOfMemory(without_zeros(text(parts..., ": too large for the memory")));
}

/// Returns action(), and makes its errors begin with `name`, such as the path of a file. Memory
/// that runs out is an OutOfMemory.
template <class Action>
auto in_name_of(const std::string& name, Action action) {
  auto named = [&] {
    try {
      return action();
    } catch (const OutOfMemory& error) {
      throw OutOfMemory(without_zeros(text(name, ": ", error.what())));
    } catch (const Error& error) {
      fail(name, ": ", error.what());
    }
  };
  return within_memory(named, name);
}

}  // namespace shiftgrad
