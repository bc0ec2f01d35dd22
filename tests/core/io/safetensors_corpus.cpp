// The fuzzer's seeds: what it begins with is read or refused as the names of the files say.

#include <cstdint>
#include <set>

#include "core/io/safetensors.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

using namespace shiftgrad;

namespace {

const std::filesystem::path corpus = TESTS_FOLDER "/fuzz/corpus";

struct Refused {
  const char *file, *reason;
};

constexpr Refused refused[] = {
    {"another_field", R"(tensor "a": has an unknown field "stride")"},
    {"data_left_over", "the tensors end at 2 of 4 bytes of data"},
    {"data_of_no_tensor", "the tensors end at 0 of 2 bytes of data"},
    {"dtype_a_number", R"(tensor "a": dtype is 1, expected a string)"},
    {"dtype_unknown", R"(tensor "a": unknown dtype "u8")"},
    {"field_twice", R"(the header: key "dtype" stands twice)"},
    {"header_a_list", "the header does not begin with {"},
    {"header_cut_off", "the header: not JSON: a mistake at byte 6"},
    {"header_empty", "the header does not begin with {"},
    {"header_half_a_surrogate", "the header: not JSON: a mistake at byte 9"},
    {"header_not_utf8", "the header: not JSON: a mistake at byte 3"},
    {"header_of_2_to_the_64",
     "not a safetensors file: a header of 18446744073709551615 bytes, expected at most 100000000"},
    {"header_past_the_end", "not a safetensors file: a header of 3 bytes in a file of 10"},
    {"header_too_long",
     "not a safetensors file: a header of 100000001 bytes, expected at most 100000000"},
    {"header_with_a_tail", "the header: not JSON: a mistake at byte 3"},
    {"header_with_a_zero", "the header: not JSON: a mistake at byte 3"},
    {"hole", R"(tensor "b": begins at 3, a hole after 2)"},
    {"hole_at_the_start", R"(tensor "a": begins at 1, a hole after 0)"},
    {"length_wrong", R"(tensor "a": data_offsets spans 2 bytes, but U8 [1] takes 1)"},
    {"metadata_a_string", R"(__metadata__ is "x", expected an object)"},
    {"metadata_of_a_number", R"(__metadata__: "k" is 1, expected a string)"},
    {"metadata_twice", R"(the header: key "__metadata__" stands twice)"},
    {"name_twice", R"(the header: key "a" stands twice)"},
    {"nested_too_deep", "the header: nested more than 3 deep"},
    {"no_dtype", R"(tensor "a": has no dtype)"},
    {"no_length", "not a safetensors file: is 7 bytes long, expected at least 8"},
    {"no_offsets", R"(tensor "a": has no data_offsets)"},
    {"no_shape", R"(tensor "a": has no shape)"},
    {"offsets_a_number", R"(tensor "a": data_offsets is 2, expected a list)"},
    {"offsets_negative", R"(tensor "a": data_offsets holds -2, expected whole numbers from 0 on)"},
    {"offsets_one", R"(tensor "a": data_offsets has 1 numbers, expected 2)"},
    {"offsets_past_the_end", R"(tensor "a": data_offsets ends at 4 of 2 bytes of data)"},
    {"offsets_reversed", R"(tensor "a": data_offsets begins at 2 and ends at 0)"},
    {"overlap", R"(tensor "b": begins at 1, an overlap with what ends at 2)"},
    {"overlap_whole", R"(tensor "b": begins at 0, an overlap with what ends at 2)"},
    {"shape_a_fraction", R"(tensor "a": shape holds 2.0, expected whole numbers from 0 on)"},
    {"shape_a_number", R"(tensor "a": shape is 2, expected a list)"},
    {"shape_negative", R"(tensor "a": shape holds -2, expected whole numbers from 0 on)"},
    {"shape_of_2_to_the_63",
     R"(tensor "a": shape holds 9223372036854775808, more than memory can hold)"},
    {"shape_of_2_to_the_64",
     R"(tensor "a": shape holds 1.8446744073709552e+19, expected whole numbers from 0 on)"},
    {"shape_of_nine_axes", R"(tensor "a": shape has 9 axes, expected at most 8)"},
    {"shape_overflows",
     R"(tensor "a": a shape of [4294967296, 4294967296], more than memory can hold)"},
    {"shape_overflows_but_empty",
     R"(tensor "a": a shape of [0, 4611686018427387904], more than memory can hold)"},
    {"tensor_a_number", R"(tensor "a": is 1, expected an object)"},
    {"truth_value_of_2", R"(tensor "a": a BOOL of 2, expected 0 or 1)"},
};

std::set<std::string> files_in(const char* folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(corpus / folder))
    names.insert(entry.path().filename().string());
  return names;
}

void replay(const std::string& path) {
  CAPTURE(path);
  std::string bytes = read_text(path);
  CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) == 0);
}

}  // namespace

TEST_CASE("safetensors corpus: what is well-formed is read") {
  std::set<std::string> files = files_in("accepted");
  CHECK(files.size() >= 10);
  for (const std::string& file : files) {
    CAPTURE(file);
    std::string path = (corpus / "accepted" / file).string();
    CHECK_NOTHROW(read_safetensors(path));
    replay(path);
  }
}

TEST_CASE("safetensors corpus: each kind of mistake is refused with its reason") {
  std::set<std::string> files;
  for (const Refused& mistake : refused) {
    std::string path = (corpus / "refused" / mistake.file).string();
    CHECK(refusal([&] { read_safetensors(path); }) == path + ": " + mistake.reason);
    replay(path);
    files.insert(mistake.file);
  }
  CHECK(files == files_in("refused"));
}
