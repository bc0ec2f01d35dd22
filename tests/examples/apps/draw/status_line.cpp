#include "examples/apps/draw/status_line.h"

#include <doctest/doctest.h>

using namespace apps;

namespace {

const std::string training = "step 100/2000  loss 2.345  1.2k tokens/s  ETA 1:15";

}  // namespace

TEST_CASE("fitted: a bar where there is room for one, of at most forty columns") {
  CHECK(fitted("1/2 runs", {}, 79) == "1/2 runs");
  std::string half = std::string(20, '#') + std::string(20, '.');
  CHECK(fitted("1/2 runs", 0.5, 79) == "[" + half + "] 1/2 runs");
  CHECK(fitted("1/2 runs", 0.5, 21) == "[#####.....] 1/2 runs");
  CHECK(fitted("1/2 runs", 0.5, 16) == "[##...] 1/2 runs");
  CHECK(fitted("1/2 runs", 0.5, 15) == "1/2 runs");
}

TEST_CASE("fitted: in a narrow terminal the time that is left stays") {
  CHECK(fitted(training, 0.05, 79) == "[#" + std::string(25, '.') + "] " + training);
  CHECK(fitted(training, 0.05, 50) == training);
  CHECK(fitted(training, 0.05, 39) == "step 100/2000  loss 2.345  ETA 1:15");
  CHECK(fitted(training, 0.05, 30) == "step 100/2000  ETA 1:15");
  CHECK(fitted(training, 0.05, 23) == "step 100/2000  ETA 1:15");
  CHECK(fitted(training, 0.05, 22) == "step 100/2000  ETA 1:1");
  CHECK(fitted("a long name", 0.5, 4) == "a lo");
  CHECK(fitted("", 0.5, 0).empty());
  // No width makes a line that is too long.
  for (int64_t room = 0; room < 100; ++room) CHECK(std::ssize(fitted(training, 0.3, room)) <= room);
}

TEST_CASE("clock_time: what is no time is a long one") {
  CHECK(clock_time(59.6) == "1:00");
  CHECK(clock_time(3661) == "1:01:01");
  std::string longest = clock_time(1e15);
  CHECK(clock_time(std::numeric_limits<double>::infinity()) == longest);
  CHECK(clock_time(1e308) == longest);
}
