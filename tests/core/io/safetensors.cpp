#include "core/io/safetensors.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<std::byte> counted(int64_t count) {
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(i));
  return bytes;
}

/// The bytes of a file with this header and these data, right or wrong.
std::string file_with(const std::string& header, const std::string& data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

SafeTensors read_bytes(const std::string& bytes) {
  TemporaryFolder folder;
  write_text(folder.file("file"), bytes);
  return read_safetensors(folder.file("file"));
}

/// Why reading these bytes is refused, without the path that the text begins with.
std::string refused_bytes(const std::string& bytes) {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_text(path, bytes);
  std::string reason = refusal([&] { read_safetensors(path); });
  CHECK(reason.starts_with(path + ": "));
  CHECK(reason.find('\n') == reason.npos);
  return reason.substr(std::min(reason.size(), path.size() + 2));
}

std::string refused(const std::string& header, int64_t data_size = 0) {
  return refused_bytes(file_with(header, std::string(static_cast<size_t>(data_size), '\0')));
}

/// A header with one tensor "a" described by these fields.
std::string one(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

SafeTensors small_file() {
  return {{{"weight", {DType::f32, {2, 1}, counted(8)}},
           {"mask", {DType::boolean, {3}, bytes_of({0, 1, 1})}},
           {"scalar", {DType::f64, {}, counted(8)}},
           {"nothing", {DType::i64, {3, 0}, {}}}},
          {{"layer", "aft"}, {"config", R"({"form":"full"})"}}};
}

}  // namespace

TEST_CASE("safetensors: every type comes back as it was written") {
  SafeTensors content = small_file();
  for (size_t n = 1; n < dtypes.size(); ++n) {
    auto dtype = static_cast<DType>(n);
    content.tensors[text(dtype)] = {dtype, {2, 4}, counted(bits_of(dtype))};
  }
  content.tensors["ä\n\"/"] = {DType::u8, {1, 1, 1, 1, 1, 1, 1, 1}, counted(1)};
  TemporaryFolder folder;
  write_safetensors(folder.file("file"), content);
  CHECK(read_safetensors(folder.file("file")) == content);
  write_safetensors(folder.file("file"), {});
  CHECK(read_safetensors(folder.file("file")) == SafeTensors{});
}

TEST_CASE("safetensors: the bytes of a file") {
  TemporaryFolder folder;
  write_safetensors(folder.file("file"), {{{"b", {DType::u8, {2}, bytes_of({7, 8})}},
                                           {"a", {DType::u8, {}, bytes_of({9})}},
                                           {"c", {DType::i16, {1}, bytes_of({1, 2})}}},
                                          {{"key", "text"}}});
  std::string header = R"({"__metadata__":{"key":"text"},)"
                       R"("a":{"data_offsets":[2,3],"dtype":"U8","shape":[]},)"
                       R"("b":{"data_offsets":[3,5],"dtype":"U8","shape":[2]},)"
                       R"("c":{"data_offsets":[0,2],"dtype":"I16","shape":[1]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(read_text(folder.file("file")) == file_with(header, "\x01\x02\x09\x07\x08"));
}

TEST_CASE("safetensors: a file in another order, without padding, with empty tensors anywhere") {
  SafeTensors content =
      read_bytes(file_with(R"({"z":{"shape":[1],"dtype":"U8","data_offsets":[0,1]},)"
                           R"("e":{"dtype":"F64","shape":[0],"data_offsets":[1,1]},)"
                           R"("a":{"data_offsets":[1,5],"dtype":"F32","shape":[]}} )",
                           "\x05"
                           "abcd"));
  CHECK(content.metadata.empty());
  CHECK(content.tensors.size() == 3);
  CHECK(content.tensors["z"] == StoredTensor{DType::u8, {1}, bytes_of({5})});
  CHECK(content.tensors["e"] == StoredTensor{DType::f64, {0}, {}});
  CHECK(content.tensors["a"] == StoredTensor{DType::f32, {}, bytes_of({'a', 'b', 'c', 'd'})});
}

TEST_CASE("safetensors: paths that cannot be read") {
  TemporaryFolder folder;
  std::string absent = folder.file("absent");
  CHECK(refusal([&] { read_safetensors(absent); }) == absent + ": no such file");
  CHECK(refusal([&] { read_safetensors("/dev/null"); }) == "/dev/null: is not a regular file");
  CHECK(refusal([&] { read_safetensors(folder.file("")); }) ==
        folder.file("") + ": is not a regular file");
  CHECK(refusal([] { read_safetensors(""); }) == ": no such file");
}

TEST_CASE("safetensors: lengths that cannot be") {
  CHECK(refused_bytes("") == "not a safetensors file: is 0 bytes long, expected at least 8");
  CHECK(refused_bytes("1234567") == "not a safetensors file: is 7 bytes long, expected at least 8");
  CHECK(refused_bytes(std::string("\x03\0\0\0\0\0\0\0{}", 10)) ==
        "not a safetensors file: a header of 3 bytes in a file of 10");
  CHECK(
      refused_bytes(std::string(8, '\xff') + "{}") ==
      "not a safetensors file: a header of 18446744073709551615 bytes, expected at most 100000000");
}

TEST_CASE("safetensors: a header that is no JSON object") {
  CHECK(refused("") == "the header does not begin with {");
  CHECK(refused(" {}") == "the header does not begin with {");
  CHECK(refused("[]") == "the header does not begin with {");
  CHECK(refused("{") == "the header: not JSON: a mistake at byte 2");
  CHECK(refused("{}}") == "the header: not JSON: a mistake at byte 3");
  CHECK(refused(std::string("{}\0", 3)) == "the header: not JSON: a mistake at byte 3");
  CHECK(refused(R"({"a":1,"a":1})") == R"(the header: key "a" stands twice)");
  CHECK(refused(R"({"a":[[[1]]]})") == "the header: nested more than 3 deep");
  CHECK(refused(R"({"a":)" + std::string(1'000'000, '[')) == "the header: nested more than 3 deep");
}

TEST_CASE("safetensors: metadata that is no table of texts") {
  CHECK(refused(R"({"__metadata__":"x"})") == R"(__metadata__ is "x", expected an object)");
  CHECK(refused(R"({"__metadata__":null})") == "__metadata__ is null, expected an object");
  CHECK(refused(R"({"__metadata__":{"k":1}})") == R"(__metadata__: "k" is 1, expected a string)");
}

TEST_CASE("safetensors: the fields of a tensor") {
  CHECK(refused(R"({"a":1})") == R"(tensor "a": is 1, expected an object)");
  CHECK(refused(one(R"("shape":[],"data_offsets":[0,4])")) == R"(tensor "a": has no dtype)");
  CHECK(refused(one(R"("dtype":"F32","data_offsets":[0,4])")) == R"(tensor "a": has no shape)");
  CHECK(refused(one(R"("dtype":"F32","shape":[])")) == R"(tensor "a": has no data_offsets)");
  CHECK(refused(one(R"("dtype":"F32","shape":[],"data_offsets":[0,4],"x":0)")) ==
        R"(tensor "a": has an unknown field "x")");
  CHECK(refused("{\"a\\nb\":1}") == R"(tensor "a\nb": is 1, expected an object)");
}

TEST_CASE("safetensors: a dtype that is none") {
  auto dtype = [](const std::string& value) {
    return refused(one(R"("shape":[],"data_offsets":[0,4],"dtype":)" + value), 4);
  };
  CHECK(dtype("1") == R"(tensor "a": dtype is 1, expected a string)");
  CHECK(dtype(R"("F31")") == R"(tensor "a": unknown dtype "F31")");
  CHECK(dtype(R"("f32")") == R"(tensor "a": unknown dtype "f32")");
  // Two values of F4 share a byte, and four of F6 three bytes.
  auto part = [](const std::string& fields) { return refused(one(fields), 2); };
  CHECK(part(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])") ==
        R"(tensor "a": F4 [3] ends within a byte)");
  CHECK(part(R"("dtype":"F6_E2M3","shape":[4],"data_offsets":[0,2])") ==
        R"(tensor "a": data_offsets spans 2 bytes, but F6_E2M3 [4] takes 3)");
}

TEST_CASE("safetensors: a list has what no reader of values knows, piece after piece") {
  TemporaryFolder folder;
  std::string path = folder.file("file"), data(70'008, '\2');
  write_text(path, file_with(R"({"__metadata__":null,)"
                             R"("new":{"dtype":"I3","shape":[2,8],"data_offsets":[70000,70006]},)"
                             R"("truth":{"dtype":"BOOL","shape":[1,1,1,1,1,1,1,1,2],"x":0,)"
                             R"("data_offsets":[70006,70008]},)"
                             R"("bytes":{"dtype":"U8","shape":[70000],"data_offsets":[0,70000]}})",
                             data));
  std::vector<std::string> visited;
  TensorList list = list_safetensors(path, [&](const TensorEntry& entry, auto piece) {
    visited.push_back(text(entry.name, ' ', piece.size()));
  });
  CHECK(visited == std::vector<std::string>{"bytes 65536", "bytes 4464", "new 6", "truth 2"});
  CHECK(list.metadata.empty());
  CHECK(list.entries.size() == 3);
  CHECK(list.entries[1].dtype == "I3");
  CHECK(list.entries[1].shape == std::vector<int64_t>{2, 8});
  CHECK(list.entries[2].shape.size() == 9);
  CHECK(list_safetensors(path).entries.size() == 3);
  CHECK(refusal([&] { read_safetensors(path); }) ==
        path + ": __metadata__ is null, expected an object");
}

TEST_CASE("safetensors: a list is of files of the format") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  auto refused = [&](const std::string& fields, const std::string& data) {
    write_text(path, file_with(one(fields), data));
    return refusal([&] { list_safetensors(path); });
  };
  CHECK(refused(R"("dtype":"I3","shape":[-1],"data_offsets":[0,1])", "1") ==
        path + R"(: tensor "a": shape holds -1, expected whole numbers from 0 on)");
  CHECK(refused(R"("dtype":"I3","shape":[1],"data_offsets":[1,2])", "12") ==
        path + R"(: tensor "a": begins at 1, a hole after 0)");
  CHECK(refused(R"("dtype":"U8","shape":[1],"data_offsets":[0,2])", "12") ==
        path + R"(: tensor "a": data_offsets spans 2 bytes, but U8 [1] takes 1)");
}

TEST_CASE("safetensors: a shape that is none") {
  auto shape = [](const std::string& value) {
    return refused(one(R"("dtype":"F32","data_offsets":[0,4],"shape":)" + value), 4);
  };
  CHECK(shape("4") == R"(tensor "a": shape is 4, expected a list)");
  CHECK(shape("[-1]") == R"(tensor "a": shape holds -1, expected whole numbers from 0 on)");
  CHECK(shape("[1.0]") == R"(tensor "a": shape holds 1.0, expected whole numbers from 0 on)");
  CHECK(shape("[true]") == R"(tensor "a": shape holds true, expected whole numbers from 0 on)");
  CHECK(shape("[1,1,1,1,1,1,1,1,1]") == R"(tensor "a": shape has 9 axes, expected at most 8)");
  CHECK(shape("[9223372036854775808]") ==
        R"(tensor "a": shape holds 9223372036854775808, more than memory can hold)");
  CHECK(shape("[99999999999999999999]") ==
        R"(tensor "a": shape holds 1e+20, expected whole numbers from 0 on)");
  CHECK(shape("[4294967296,4294967296]") ==
        R"(tensor "a": a shape of [4294967296, 4294967296], more than memory can hold)");
  CHECK(shape("[0,4611686018427387904]") ==
        R"(tensor "a": a shape of [0, 4611686018427387904], more than memory can hold)");
  CHECK(shape("[2]") == R"(tensor "a": data_offsets spans 4 bytes, but F32 [2] takes 8)");
  CHECK(shape("[0]") == R"(tensor "a": data_offsets spans 4 bytes, but F32 [0] takes 0)");
}

TEST_CASE("safetensors: offsets that do not fit") {
  auto offsets = [](const std::string& value) {
    return refused(one(R"("dtype":"F32","shape":[],"data_offsets":)" + value), 4);
  };
  CHECK(offsets("0") == R"(tensor "a": data_offsets is 0, expected a list)");
  CHECK(offsets("[0]") == R"(tensor "a": data_offsets has 1 numbers, expected 2)");
  CHECK(offsets("[0,4,4]") == R"(tensor "a": data_offsets has 3 numbers, expected 2)");
  CHECK(offsets(R"([0,"4"])") ==
        R"(tensor "a": data_offsets holds "4", expected whole numbers from 0 on)");
  CHECK(offsets("[4,0]") == R"(tensor "a": data_offsets begins at 4 and ends at 0)");
  CHECK(offsets("[4,8]") == R"(tensor "a": data_offsets ends at 8 of 4 bytes of data)");
  CHECK(offsets("[0,3]") == R"(tensor "a": data_offsets spans 3 bytes, but F32 [] takes 4)");
}

TEST_CASE("safetensors: data that are not covered exactly once") {
  auto two = [](const std::string& first, const std::string& second) {
    auto bytes = [](const std::string& offsets) {
      return R"({"dtype":"U8","shape":[2],"data_offsets":)" + offsets + "}";
    };
    return R"({"a":)" + bytes(first) + R"(,"b":)" + bytes(second) + "}";
  };
  CHECK(refused(two("[3,5]", "[0,2]"), 5) == R"(tensor "a": begins at 3, a hole after 2)");
  CHECK(refused(two("[0,2]", "[1,3]"), 3) ==
        R"(tensor "b": begins at 1, an overlap with what ends at 2)");
  CHECK(refused(two("[0,2]", "[0,2]"), 2) ==
        R"(tensor "b": begins at 0, an overlap with what ends at 2)");
  CHECK(refused(two("[1,3]", "[3,5]"), 5) == R"(tensor "a": begins at 1, a hole after 0)");
  CHECK(refused(two("[0,2]", "[2,4]"), 5) == "the tensors end at 4 of 5 bytes of data");
  CHECK(refused("{}", 1) == "the tensors end at 0 of 1 bytes of data");
}

TEST_CASE("safetensors: a truth value is 0 or 1") {
  std::string header = one(R"("dtype":"BOOL","shape":[2],"data_offsets":[0,2])");
  CHECK(refused_bytes(file_with(header, "\x01\x02")) ==
        R"(tensor "a": a BOOL of 2, expected 0 or 1)");
}

TEST_CASE("safetensors: no part of a file is taken for the whole") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_safetensors(path, small_file());
  for (auto size = std::filesystem::file_size(path); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    CHECK(refusal([&] { read_safetensors(path); }).starts_with(path + ": "));
  }
}

TEST_CASE("safetensors: any bit of the header may be wrong") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_safetensors(path, small_file());
  std::string whole = read_text(path);
  size_t data_size = 8 + 8 + 3;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  auto put = [&](size_t position, int value) {
    file.seekp(static_cast<std::streamoff>(position)).put(static_cast<char>(value)).flush();
  };
  for (size_t position = 0; position < whole.size() - data_size; ++position) {
    for (int bit = 0; bit < 8; ++bit) {
      put(position, whole[position] ^ (1 << bit));
      try {
        read_safetensors(path);  // fine when a letter of a name became another
      } catch (const Error& error) {
        CHECK(std::string(error.what()).starts_with(path + ": "));
      }
    }
    put(position, whole[position]);
  }
  CHECK(read_safetensors(path) == small_file());
}

TEST_CASE("safetensors: what cannot be written") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  write_text(path, "old");
  auto refused = [&](const SafeTensors& content) {
    return refusal([&] { write_safetensors(path, content); });
  };
  CHECK(refused({{{"a", {DType::f32, {2}, counted(4)}}}, {}}) ==
        path + R"(: tensor "a": 4 bytes, but F32 [2] takes 8)");
  CHECK(refused({{{"__metadata__", {DType::f32, {0}, {}}}}, {}}) ==
        path + ": no tensor can be named __metadata__");
  CHECK(refused({{{"\xff", {DType::f32, {0}, {}}}}, {}}) ==
        path + ": a name or a metadata text is not UTF-8");
  CHECK(read_text(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("safetensors: a path with a zero byte is not that of the file before it") {
  TemporaryFolder folder;
  std::string path = folder.file("old");
  write_safetensors(path, {});
  std::string before = read_text(path), longer = path + std::string("\0new", 4);
  std::string refused = path + "\\0new: a zero byte, which no path can have";
  CHECK(refusal([&] { write_safetensors(longer, {{}, {{"a", "b"}}}); }) == refused);
  CHECK(refusal([&] { read_safetensors(longer); }) == refused);
  CHECK(refusal([&] { list_safetensors(longer); }) == refused);
  CHECK(read_text(path) == before);
}

TEST_CASE("safetensors: an open file is read when its bytes are asked for") {
  TemporaryFolder folder;
  std::string path = folder.file("file");
  SafeTensors before{{{"x", {DType::u8, {3}, bytes_of({1, 2, 3})}}}, {{"key", "text"}}};
  write_safetensors(path, before);
  SafeTensors open = open_safetensors(path);
  CHECK(open.metadata == before.metadata);

  // A file that took its place is another one.
  write_safetensors(path, {{{"x", {DType::u8, {3}, bytes_of({4, 5, 6})}}}, {}});
  std::vector<std::byte> copy(3);
  open.tensors["x"].bytes.copy_to(copy.data());
  CHECK(copy == bytes_of({1, 2, 3}));
  CHECK(open == before);

  // One that was changed in place is not what was opened, unless the bytes are in memory by then.
  SafeTensors changed = open_safetensors(path), read = open_safetensors(path);
  CHECK(read.tensors["x"].bytes[2] == std::byte{6});
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(1));
  CHECK(refusal([&] { changed.tensors["x"].bytes.data(); }) == "was changed while it was read");
  CHECK(refusal([&] { changed.tensors["x"].bytes.copy_to(copy.data()); }) ==
        "was changed while it was read");
  CHECK(read.tensors["x"].bytes[2] == std::byte{6});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK(refusal([&] { changed.tensors["x"].bytes.data(); }) == "cannot be read to its end");

  CHECK(refusal([&] { open_safetensors(folder.file("absent")); }) ==
        folder.file("absent") + ": no such file");
  std::string mask = folder.file("mask");
  write_text(mask, file_with(one(R"("dtype":"BOOL","shape":[1],"data_offsets":[0,1])"), "\x02"));
  CHECK(refusal([&] { open_safetensors(mask); }) ==
        mask + R"(: tensor "a": a BOOL of 2, expected 0 or 1)");
}
