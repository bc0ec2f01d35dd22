#pragma once

// Tells which sanitizer the compiler builds for: gcc says so by macros, clang by features.

#ifndef __has_feature
#define __has_feature(name) 0
#endif

namespace shiftgrad {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool address_sanitizer = true;
#else
constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif

}  // namespace shiftgrad
