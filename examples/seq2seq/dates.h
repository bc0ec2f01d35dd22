#pragma once

#include <cstdint>
#include <vector>

#include "rows.h"

namespace seq2seq {

/// Dates as people write them, each with its ISO 8601 form:
///
///     Wednesday, 3 March 2021    2021-03-03
///     Mar 3rd, '21               2021-03-03
///     March the 3rd 2021         2021-03-03
///
/// `count` different days of 1900 to 2099 in an order of their own, each in a style drawn at
/// random. No style leaves open which number is the day's: a month is a word, or the year comes
/// first. A year of two digits is one of 1970 to 2069, as POSIX has it but for a year.
std::vector<Row> written_dates(int64_t count);

}  // namespace seq2seq
