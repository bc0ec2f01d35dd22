#include "opened_model.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/errors.h"
#include "nn/models/checkpoint.h"
#include "request.h"

namespace book {

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the bytes that base64 stands for: each digit has 6 bits. Ends of "=" may be missing.
std::string decoded(std::string_view base64) {
  while (base64.ends_with('=')) base64.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;  // of bits that are no byte yet
  for (char digit : base64) {
    size_t value = digits.find(digit);
    require(value != digits.npos, "\"file\" has ", shown(std::string(1, digit)),
            ", expected a digit of base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

/// A file with these bytes, as long as this object is there. Checkpoints are read from files.
struct TemporaryFile {
  std::filesystem::path path;

  explicit TemporaryFile(const std::string& bytes) {
    std::string pattern = (std::filesystem::temp_directory_path() / "opened-XXXXXX").string();
    int file = mkstemp(pattern.data());
    require(file >= 0, "no temporary file can be made");
    close(file);
    path = pattern;
    std::ofstream(path, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

/// Reads the checkpoint of such a file. Errors do not name the file, which nobody knows.
Checkpoint checkpoint_in(const std::string& bytes) {
  TemporaryFile file(bytes);
  try {
    return read_checkpoint(file.path.string());
  } catch (const Error& error) {
    std::string_view reason = error.what(), name = file.path.native();
    if (reason.starts_with(name)) reason.remove_prefix(std::min(reason.size(), name.size() + 2));
    fail(reason);
  }
}

OpenedModel opened(const Checkpoint& checkpoint) {
  Json flags = parse_json("training", checkpoint.training, 2);
  OpenedModel opened{.model = make_model(checkpoint, "the model"),
                     .vocabulary = vocabulary_of(checkpoint, "the vocabulary"),
                     .step = checkpoint.state.step,
                     .block_size = value_of<int64_t>(flags, "block_size"),
                     .mem_len = value_of<int64_t>(flags, "mem_len", 0)};
  opened.writing.mem_len = std::max(opened.mem_len, opened.block_size);
  if (checkpoint.model.position == TokenPosition::sinusoid)
    opened.writing.positions = opened.block_size;
  return opened;
}

}  // namespace

OpenedModel opened_model(const std::string& base64) {
  return in_name_of("open", [&] { return opened(checkpoint_in(decoded(base64))); });
}

}  // namespace book
