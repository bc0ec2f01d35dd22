// Runs a target as libFuzzer would, but with any compiler, and the same inputs each time:
//
//     TARGET --runs N    makes N inputs
//     TARGET FILE...     runs the files, such as the one that made it fail
//
// The input under way lies in TARGET.input, which is gone when all went well.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/machine/sanitizer.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/temporary_folder.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t longest,
                                          unsigned seed);

namespace {

constexpr size_t longest_input = 40000;
constexpr unsigned seconds_an_input = 60;
constexpr rlim_t memory_left = rlim_t{2} << 30;

fuzz::Choices choices(0);

/// What wants so much more memory fails, instead of taking what others need. A sanitizer reserves
/// far more than it uses.
void limit_memory() {
  if (shiftgrad::address_sanitizer || shiftgrad::thread_sanitizer) return;
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlim_t most = pages * static_cast<rlim_t>(::getpagesize()) + memory_left;
  rlimit limit{most, most};
  fuzz::expect(pages > 0 && ::setrlimit(RLIMIT_AS, &limit) == 0, "a limit of memory");
}

void feed(const std::string& input, const std::string& kept) {
  write_text(kept, input);
  ::alarm(seconds_an_input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  ::alarm(0);
}

/// Each input is the nothing that seeds are made of, or one of the last, changed once or more
/// often.
void mutate_and_feed(int64_t runs, const std::string& kept) {
  std::vector<std::string> last(20);
  for (unsigned run = 0; run < runs; ++run) {
    std::string input = choices.once_in(4) ? choices.of(last) : "";
    do {
      size_t size = input.size();
      input.resize(longest_input);
      auto* bytes = reinterpret_cast<uint8_t*>(input.data());
      auto seed = static_cast<unsigned>(choices.below(1u << 31));
      input.resize(LLVMFuzzerCustomMutator(bytes, size, longest_input, seed));
    } while (choices.once_in(3));
    feed(input, kept);
    last[run % last.size()] = input;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t longest) {
  if (size > 0 && choices.once_in(3)) {
    size_t place = choices.below(size);
    std::copy(data + place + 1, data + size, data + place);
    return size - 1;
  }
  if (size < longest && choices.once_in(2)) {
    size_t place = choices.below(size + 1);
    std::copy_backward(data + place, data + size, data + size + 1);
    data[place] = static_cast<uint8_t>(choices.below(256));
    return size + 1;
  }
  if (size > 0) data[choices.below(size)] ^= static_cast<uint8_t>(1 << choices.below(8));
  return size;
}

int main(int count, char** arguments) {
  std::vector<std::string> given(arguments + 1, arguments + count);
  std::string kept = std::filesystem::absolute(arguments[0]).string() + ".input";
  bool mutate = given.size() == 2 && given[0] == "--runs";
  std::vector<std::string> files;
  if (!mutate)
    for (const std::string& file : given) files.push_back(read_text(file));
  LLVMFuzzerInitialize(&count, &arguments);
  limit_memory();
  if (mutate) mutate_and_feed(std::stol(given[1]), kept);
  for (const std::string& file : files) feed(file, kept);
  std::filesystem::remove(kept);
}
