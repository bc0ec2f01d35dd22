#pragma once

// What is built into the programs from files of other languages (embed_report.sh).

#include <string_view>

namespace apps {

/// The looks of drawings: drawn.css.
extern const std::string_view drawing_style;

/// The modules of the book that a report needs, and its style sheet.
extern const std::string_view report_script, report_style;

}  // namespace apps
