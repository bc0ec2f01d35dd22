// libFuzzer's target for the safetensors reader (llvm.org/docs/LibFuzzer.html). Whatever the bytes
// of a file are, it is refused in one line that begins with its path, or what was read is the same
// after it has been written and read again, as a file and as tensors in memory.

#include <cstdint>
#include <string_view>

#include "core/errors.h"
#include "core/io/tensor_file.h"
#include "tests/fuzz/expect.h"
#include "tests/support/temporary_folder.h"

using fuzz::expect;
using namespace shiftgrad;

namespace {

void expect_line(const Error& error, const std::string& beginning) {
  std::string_view line = error.what();
  expect(line.starts_with(beginning), "a line that begins with " + beginning);
  expect(line.find('\n') == line.npos, "one line");
}

template <class Value>
void load_and_store(Value load(const std::string&, const StoredTensor&),
                    const StoredTensor& tensor) {
  try {
    expect(stored(load("x", tensor)) == tensor, "what was loaded to be stored as it was");
  } catch (const Error& error) {
    expect_line(error, "tensor \"x\": ");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static TemporaryFolder folder;
  static const std::string given = folder.file("given"), again = folder.file("again");
  write_text(given, {reinterpret_cast<const char*>(data), size});
  SafeTensors content;
  try {
    content = read_safetensors(given);
  } catch (const Error& error) {
    expect_line(error, given + ": ");
    return 0;
  }
  write_safetensors(again, content);
  expect(read_safetensors(again) == content, "what was written to be read as it was");
  for (const auto& [name, tensor] : content.tensors) {
    load_and_store(loaded_tensor, tensor);
    load_and_store(loaded_tokens, tensor);
    load_and_store(loaded_mask, tensor);
  }
  return 0;
}
