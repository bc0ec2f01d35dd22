// Headers that most tests include, which the compiler parses once for each program of tests; see
// core/precompiled.h.

#include <doctest/doctest.h>

#include "core/precompiled.h"
#include "core/tape.h"
