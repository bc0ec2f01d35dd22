#include "examples/apps/runs/run_course.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace apps;

namespace {

std::string line(int step, double loss) {
  return shiftgrad::text("{\"step\":", step, ",\"loss\":", loss, ",\"seconds\":1.5}\n");
}

std::vector<double> losses(const RunCourse& course) {
  std::vector<double> list;
  for (const Measured& batch : course.batches) list.push_back(batch.value);
  return list;
}

}  // namespace

TEST_CASE("read_course: goes on behind the last line that it read") {
  TemporaryFolder place;
  const std::string file = place.file("metrics.jsonl"), run = place.file("");
  const std::string first = line(1, 4) + line(2, 3);
  write_text(file, first + "{\"step\":3,\"lo");
  RunCourse course = read_course(run);
  CHECK(losses(course) == std::vector<double>{4, 3});
  // What was read is not read again: nobody sees that its first line is another one.
  write_text(file, line(1, 9) + line(2, 3) + line(3, 2));
  course = read_course(run, course);
  CHECK(losses(course) == std::vector<double>{4, 3, 2});
  CHECK(course.seconds == 4.5);
  CHECK(course.batches.back().seconds == 4.5);
  course = read_course(run, course);
  CHECK(losses(course) == std::vector<double>{4, 3, 2});
  CHECK(refusal([&] {
          write_text(file, first + line(3, 2) + "{}\n");
          read_course(run, course);
        }) == file + ": line 4: expected an object with a step");
}

TEST_CASE("read_course: reads what was observed, as it was written") {
  TemporaryFolder place;
  const std::string file = place.file("metrics.jsonl"), run = place.file("");
  const Observation written{.step = 2,
                            .samples = {{"read\n", "wrote \xFF", "expected"}},
                            .attended = TokenWeights{.title = "what “b” attends to",
                                                     .row_title = "head",
                                                     .rows = {"0.0", "0.1"},
                                                     .tokens = {"\xFF", "b"},
                                                     .values = {0.25, 0.75, 1, 0}},
                            .exact_match = 0.5,
                            .edit_rate = 1.25};
  auto lines_with = [&](const nlohmann::ordered_json& observed) {
    return line(1, 4) + observed.dump() + "\n";
  };
  write_text(file, lines_with(json_of(written)));
  RunCourse course = read_course(run);
  REQUIRE(course.observations.size() == 1);
  CHECK(json_of(course.observations[0]).dump() ==
        json_of({.step = 2, .samples = written.samples, .attended = written.attended}).dump());
  CHECK(course.observations[0].samples[0].written == "wrote \xFF");
  CHECK(course.exact_matches.at(0).value == 0.5);
  CHECK(course.edit_rates.at(0).value == 1.25);

  auto refused = [&](const char* pointer, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json other = json_of(written);
    other[nlohmann::ordered_json::json_pointer(pointer)] = value;
    write_text(file, lines_with(other));
    std::string what = refusal([&] { read_course(run); }), begin = file + ": line 2: ";
    CHECK(what.starts_with(begin));
    return what.substr(std::min(begin.size(), what.size()));
  };
  CHECK(refused("/samples", 1) == "expected a list \"samples\"");
  CHECK(refused("/samples/0", {"a"}) == "a sample, expected [read, written, expected]");
  CHECK(refused("/samples/0/1", 7) == "7, expected a text");
  CHECK(refused("/attended", 1) == "expected a list \"rows\"");
  CHECK(refused("/attended/title", nullptr) == "null, expected a text");
  CHECK(refused("/attended/thousandths/1", 1001) ==
        "a weight of 1001 thousandths, expected 0 to 1000");
  CHECK(refused("/attended/tokens", {"a"}) == "4 weights, expected 2 times 1");
  CHECK(refused("/exact_match", "all") == "exact_match \"all\", expected a number");
}

TEST_CASE("read_course: begins anew where another line stands in the place of the last one") {
  TemporaryFolder place;
  const std::string file = place.file("metrics.jsonl"), run = place.file("");
  write_text(file, line(1, 4) + line(2, 3) + line(3, 2));
  const RunCourse before = read_course(run);
  for (const std::string& other :
       {line(1, 5), line(1, 5) + line(2, 3), line(1, 5) + line(2, 3) + line(3, 1),
        line(1, 5) + line(2, 3) + line(3, 1) + line(4, 1)}) {
    write_text(file, other);
    CHECK(losses(read_course(run, before)) == losses(read_course(run)));
  }
  write_text(file, "");
  CHECK(refusal([&] { read_course(run, before); }) == file + ": an empty file");
}
