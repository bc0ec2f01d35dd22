#pragma once

namespace shiftgrad {

/// What a thread has for itself: declared `thread_local`, a value that is destroyed as its thread
/// ends. On Windows it stays behind its thread, since GCC frees a thread's variables there before it
/// destroys them.
template <class T>
struct ThreadVariable {
#ifdef _WIN32
  T& value = *new T;
#else
  T value;
#endif
};

}  // namespace shiftgrad
