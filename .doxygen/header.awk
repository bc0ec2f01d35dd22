# A header as doxygen shall see it: the comment that it opens with describes the file, and the inline
# namespace of its precision is left out. It is included as a program outside includes it.
{ sub(/::SHIFTGRAD_PRECISION/, ""); sub(/^#include "/, "&shiftgrad/") }
/^#pragma once/ { before = 1 }
before && /^\/\/( |$)/ { before = 0; inside = 1; print "/// @file" }
inside && !/^\/\// { inside = 0 }
before && /^#include/ { before = 0 }
{ print inside ? "/" $0 : $0 }
