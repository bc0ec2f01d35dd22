// The fuzzer's seeds: the files of the corpus are read, and those of the table are refused.

#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

using namespace shiftgrad;

namespace {

/// A file that is refused, and what the refusal says after the path.
struct Refused {
  std::string name, bytes, reason;
};

/// Returns the bytes of a header of the table, which has \xHH for those that are no text.
std::string unescaped(std::string text) {
  for (size_t at = 0; (at = text.find("\\x", at)) != text.npos; ++at)
    text.replace(at, 4, 1, static_cast<char>(std::stoi(text.substr(at + 2, 2), nullptr, 16)));
  return text;
}

/// Returns the rows of the table (tests/fuzz/refused.tsv says what its columns are).
std::vector<Refused> refused_files() {
  std::vector<Refused> files;
  std::istringstream table(read_text(TESTS_FOLDER "/fuzz/refused.tsv"));
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    std::string name, length, header, data, reason;
    std::istringstream row(line);
    for (std::string* column : {&name, &length, &header, &data, &reason})
      std::getline(row, *column, '\t');
    header = unescaped(header);
    uint64_t size = length.empty() ? header.size() : length == "-" ? 0 : std::stoull(length);
    std::string bytes(reinterpret_cast<const char*>(&size), length == "-" ? 0 : sizeof(size));
    bytes += header;
    for (size_t n = 0; n < data.size(); n += 2)
      bytes += static_cast<char>(std::stoi(data.substr(n, 2), nullptr, 16));
    files.push_back({name, bytes, reason});
  }
  return files;
}

void replay(const std::string& bytes) {
  CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) == 0);
}

}  // namespace

TEST_CASE("safetensors corpus: what is well-formed is read") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESTS_FOLDER "/fuzz/corpus")) {
    std::string path = entry.path().string();
    CAPTURE(path);
    CHECK_NOTHROW(read_safetensors(path));
    replay(read_text(path));
    ++files;
  }
  CHECK(files == 13);
}

TEST_CASE("safetensors corpus: each kind of mistake is refused with its reason") {
  TemporaryFolder folder;
  std::set<std::string> names;
  for (const Refused& mistake : refused_files()) {
    CAPTURE(mistake.name);
    std::string path = folder.file(mistake.name.c_str());
    write_text(path, mistake.bytes);
    CHECK(refusal([&] { read_safetensors(path); }) == path + ": " + mistake.reason);
    replay(mistake.bytes);
    names.insert(mistake.name);
  }
  CHECK(names.size() == 45);
}
