#pragma once

#include <span>
#include <string_view>

namespace apps {

/// The files that embed_source.sh built into the program.
extern const std::span<const std::string_view> embedded_files;

}  // namespace apps
