#pragma once

// The header of a safetensors file says what is where:
//
//     {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …,
//      "__metadata__": {"key": "text"}}
//
// The offsets count from the end of the header. Together the tensors cover the data exactly once.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/io/dtype.h"

namespace shiftgrad {

struct SafeTensorsHeader {
  struct Entry {
    std::string name;
    DType dtype;
    Dims shape;
    uint64_t begin, end;  // in the data
  };
  std::vector<Entry> entries;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Parses a header that `data_size` bytes follow. Throws at whatever the format does not allow.
SafeTensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_size);

/// Returns the header's JSON. Throws when a name or a metadata text is not UTF-8, and when a tensor
/// has the name of the metadata.
std::string safetensors_header_text(const SafeTensorsHeader& header);

}  // namespace shiftgrad
