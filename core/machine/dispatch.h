#pragma once

// A source that is compiled once for each instruction set defines, where HWY_ONCE holds, the
// pointers that its header declares:
//
//     extern Scalar (*const sum)(const Scalar* x, int64_t n);     SHIFTGRAD_DISPATCH(sum);
//
// Such a pointer calls the function of its name that was compiled for the best set.

#define SHIFTGRAD_DISPATCH(name) \
  HWY_EXPORT(name);              \
  decltype(name) name = [](auto... x) -> decltype(auto) { return HWY_DYNAMIC_DISPATCH(name)(x...); }
