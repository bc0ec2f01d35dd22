#pragma once

// Reads safetensors strictly and writes them atomically. The format is
// (github.com/huggingface/safetensors, section Format)
//
//     8 bytes   N, the length of the header, little-endian
//     N bytes   the header, which says what is where, as JSON:
//               {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …,
//                "__metadata__": {"key": "text"}}
//     the rest  the values, row-major, little-endian
//
// The offsets count from the end of the header. Together the tensors cover the data exactly once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/dims.h"
#include "core/io/bytes.h"
#include "core/io/dtype.h"

namespace shiftgrad {

/// One tensor as a file stores it.
struct StoredTensor {
  /// The type of its values.
  DType dtype{};
  /// The size of each axis.
  Dims shape{};
  /// The values, row-major and little-endian.
  Bytes bytes{};

  bool operator==(const StoredTensor&) const = default;
};

/// The content of a file.
struct SafeTensors {
  /// The tensors by name.
  std::map<std::string, StoredTensor> tensors{};
  /// The texts of __metadata__ by key.
  std::map<std::string, std::string> metadata{};

  bool operator==(const SafeTensors&) const = default;
};

/// Reads a whole file. Throws, in one line that begins with the path, at whatever the format does
/// not allow, at a header of more than 100 MB, at more than Dims::max_rank axes, and at a BOOL that
/// is neither 0 nor 1. Believes no number in the file before it agrees with the file's size.
SafeTensors read_safetensors(const std::string& path);

/// Reads a file in the same way, but the bytes of its tensors, BOOL aside, only when somebody asks
/// for them, from the file as it is now: when its writer has replaced it since, they are still the
/// old ones, and when they were changed in place, asking throws.
SafeTensors open_safetensors(const std::string& path);

/// What a header says of a tensor. Its bytes lie in the data from `begin` to `end`.
struct TensorEntry {
  /// The name and the type, as the header has them.
  std::string name, dtype;
  /// The size of each axis.
  std::vector<int64_t> shape;
  /// Where its bytes lie in the data.
  uint64_t begin = 0, end = 0;
};

/// The header of a file: its tensors in the order of their data.
struct TensorList {
  /// The tensors in the order of their data.
  std::vector<TensorEntry> entries;
  /// The texts of __metadata__ by key.
  std::map<std::string, std::string> metadata;
};

/// Is called with a tensor and a piece of its bytes, which begins at a multiple of 64 KiB in them.
using PieceOfTensor =
    std::function<void(const TensorEntry& entry, std::span<const std::byte> piece)>;

/// Reads the header of a file and, if `visit` is given, the data after it, piece after piece: the
/// memory that this takes does not grow with the data. Throws as read_safetensors does, but lets
/// pass what describes a tensor nevertheless: types, fields and numbers of axes that the library
/// does not know, bytes of a BOOL, and metadata of null.
TensorList list_safetensors(const std::string& path, const PieceOfTensor& visit = {});

/// Writes a whole file or, when anything fails, leaves what was there and throws one line that
/// begins with the path. Equal contents give equal bytes. Tensors of wide values come first, and
/// tensors of equal width are sorted by name, so that each begins at a multiple of its values'
/// width.
void write_safetensors(const std::string& path, const SafeTensors& content);

}  // namespace shiftgrad
