#include "examples/apps/runs/run_course.h"

#include <doctest/doctest.h>

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
