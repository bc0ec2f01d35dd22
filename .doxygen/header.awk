# A header, or a page, as doxygen shall see it: the comment that it opens with describes the file, and the inline
# namespace of its precision is left out. It is included as a program outside includes it.
{ sub(/::SHIFTGRAD_PRECISION/, ""); sub(/^#include "/, "&shiftgrad/") }
/^#pragma once/ { before = 1 }
before && /^\/\/( |$)/ { before = 0; inside = 1; print "/// @file" }
inside && !/^\/\// { inside = 0 }
before && /^#include/ { before = 0 }
# A link within a page leads to a heading by a name that doxygen does not give it: its words stay.
{
  while (match($0, /\[[^][]*\]\(#[^)]*\)/)) {
    words = substr($0, RSTART + 1, index(substr($0, RSTART), "](#") - 2)
    $0 = substr($0, 1, RSTART - 1) words substr($0, RSTART + RLENGTH)
  }
}
{ print inside ? "/" $0 : $0 }
