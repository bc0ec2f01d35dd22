#include "core/io/field_json.h"

#include "ops/visibility.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

enum class Paper { white, grey };
constexpr auto names(Paper) { return std::array{"white", "grey"}; }

/// Returns what was expected in place of this JSON, or the value that was read, as JSON.
template <class Value>
std::string read(const char* text, const Field& field = {}) {
  Value value{};
  std::string wrong = read_json(nlohmann::json::parse(text), value, field);
  nlohmann::ordered_json written;
  write_json(written, value);
  return wrong.empty() ? written.dump() : wrong;
}

}  // namespace

TEST_CASE("field in JSON: what is of the type is read, and written as it was") {
  CHECK(read<bool>("true") == "true");
  CHECK(read<int64_t>("-9223372036854775808") == "-9223372036854775808");
  CHECK(read<uint64_t>("18446744073709551615") == "18446744073709551615");
  CHECK(read<int>("-2147483648") == "-2147483648");
  CHECK(read<double>("0.1") == "0.1");
  CHECK(read<double>("3") == "3.0");
  CHECK(read<std::string>(R"("ä")") == R"("ä")");
  CHECK(read<Paper>(R"("grey")") == R"("grey")");
  CHECK(read<std::optional<int64_t>>("7") == "7");
  CHECK(read<std::optional<Paper>>(R"("white")") == R"("white")");
  CHECK(read<Window>("4") == "4");
  CHECK(read<Window>("[3,0]") == "[3,0]");
  CHECK(read<std::optional<Chunk>>("[8,2]") == "[8,2]");
  nlohmann::ordered_json absent;
  write_json(absent, std::optional<double>());
  CHECK(absent.is_null());
}

TEST_CASE("field in JSON: what is of another type is refused with what was expected") {
  CHECK(read<bool>("1") == ", expected true or false");
  CHECK(read<int64_t>("1.0") == ", expected a whole number");
  CHECK(read<int64_t>("null") == ", expected a whole number");
  CHECK(read<std::optional<int64_t>>("null") == ", expected a whole number");
  CHECK(read<uint64_t>("-1") == ", expected a whole number from 0 to 18446744073709551615");
  CHECK(read<double>(R"("1")") == ", expected a number");
  CHECK(read<std::string>("1") == ", expected a string");
  CHECK(read<Paper>("1") == ", expected a string");
  CHECK(read<Paper>(R"("red")") == ", expected white or grey");
  CHECK(read<Window>("[1]") == ", expected a list of two whole numbers");
  CHECK(read<Window>("[1, 2.5]") == ", expected a whole number");
  CHECK(read<Chunk>("4") == ", expected a list of two whole numbers");
}

TEST_CASE("field in JSON: a number that the type cannot hold is not wrapped around") {
  const Field layers{.of = quantity::layers};
  CHECK(read<int64_t>("9223372036854775808") == ", expected a smaller number");
  CHECK(read<int64_t>("9223372036854775808", layers) == ", expected at most 10000");
  CHECK(read<int>("4294967297", layers) == ", expected at most 10000");
  CHECK(read<int>("-4294967297", layers) == ", expected at least 1");
  CHECK(read<Window>("[18446744073709551615, 1]", layers) == ", expected at most 10000");
}
