#pragma once

#include <cstdint>
#include <vector>

#include "rows.h"

namespace seq2seq {

/// Returns dates as people write them, each with its ISO 8601 form:
///
///     Wednesday, 3 March 2021    2021-03-03
///     Mar 3rd, '21               2021-03-03
///     March the 3rd 2021         2021-03-03
///
/// There are `count` different days from 1900 to 2099 in a random order, each in a style drawn at
/// random. No style is ambiguous about which number is the day: the month is a word, or the year
/// comes first. A two-digit year is in 1970 to 2069, which differs from POSIX by one year.
std::vector<Row> written_dates(int64_t count);

}  // namespace seq2seq
