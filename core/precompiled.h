// Parts of the standard library that most sources include. Where meson's option b_pch is true, the
// compiler parses them once for each library and not once for each source. A source includes what it
// uses all the same: it compiles without this file, too. No <iostream>, whose object would get a
// constructor in every source.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>
