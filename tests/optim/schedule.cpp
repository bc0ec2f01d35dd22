#include "optim/schedule.h"

#include <cmath>
#include <vector>

#include "tests/support/refusal.h"

using namespace shiftgrad;

TEST_CASE("schedule: constant behind a warm-up") {
  Schedule schedule{.type = ScheduleType::constant, .learning_rate = 0.5, .warmup_iters = 4};
  CHECK(schedule.at(0) == doctest::Approx(0.1));
  CHECK(schedule.at(3) == doctest::Approx(0.4));
  CHECK(schedule.at(4) == 0.5);
  CHECK(schedule.at(1000000) == 0.5);
}

TEST_CASE("schedule: cosine passes through its corners") {
  Schedule schedule{.type = ScheduleType::cosine,
                    .learning_rate = 1,
                    .min_lr = 0.2,
                    .warmup_iters = 100,
                    .lr_decay_iters = 500};
  CHECK(schedule.at(0) == doctest::Approx(1 / 101.0));
  CHECK(schedule.at(99) == doctest::Approx(100 / 101.0));
  CHECK(schedule.at(100) == 1);
  CHECK(schedule.at(200) == doctest::Approx(0.2 + 0.8 * (0.5 + std::sqrt(0.5) / 2)));
  CHECK(schedule.at(300) == doctest::Approx(0.6));
  CHECK(schedule.at(500) == 0.2);
  CHECK(schedule.at(9999) == 0.2);
}

TEST_CASE("schedule: linear is a straight line behind the same warm-up") {
  Schedule schedule{.type = ScheduleType::linear,
                    .learning_rate = 1,
                    .min_lr = 0.2,
                    .warmup_iters = 100,
                    .lr_decay_iters = 500};
  CHECK(schedule.at(99) == doctest::Approx(100 / 101.0));
  CHECK(schedule.at(100) == 1);
  CHECK(schedule.at(200) == doctest::Approx(0.8));
  CHECK(schedule.at(300) == doctest::Approx(0.6));
  CHECK(schedule.at(499) == doctest::Approx(0.202));
  CHECK(schedule.at(500) == 0.2);
  CHECK(schedule.at(9999) == 0.2);
}

TEST_CASE("schedule: without warm-up the first rate is the full one") {
  for (ScheduleType type : {ScheduleType::constant, ScheduleType::linear, ScheduleType::cosine,
                            ScheduleType::inverse_sqrt, ScheduleType::noam})
    CHECK(Schedule{.type = type, .learning_rate = 0.3, .lr_decay_iters = 10}.at(0) == 0.3);
}

TEST_CASE("schedule: noam is the paper's, and inverse square root that of its own highest rate") {
  double d_model = 512, warmup = 4000;
  Schedule noam{
      .type = ScheduleType::noam, .learning_rate = 1, .warmup_iters = 4000, .d_model = 512};
  Schedule by_peak{.type = ScheduleType::inverse_sqrt,
                   .learning_rate = 1 / std::sqrt(d_model * warmup),
                   .warmup_iters = 4000};
  for (int n : {1, 2, 3999, 4000, 4001, 100000}) {
    double expected =
        std::pow(d_model, -0.5) * std::min(std::pow(n, -0.5), n * std::pow(warmup, -1.5));
    CHECK(noam.at(n - 1) == doctest::Approx(expected));
    CHECK(by_peak.at(n - 1) == doctest::Approx(expected));
  }
  noam.learning_rate = 2;
  CHECK(noam.at(9) == doctest::Approx(4 * by_peak.at(4)));
}

TEST_CASE("schedule: a number rises as the learning rate does, in whole steps") {
  auto numbers = [](int64_t all, int64_t warmup_iters) {
    std::vector<int64_t> result;
    for (int64_t step = 0; step < 8; ++step) result.push_back(warmed_up(all, warmup_iters, step));
    return result;
  };
  CHECK(numbers(4, 0) == std::vector<int64_t>{4, 4, 4, 4, 4, 4, 4, 4});
  CHECK(numbers(4, 3) == std::vector<int64_t>{1, 2, 3, 4, 4, 4, 4, 4});
  CHECK(numbers(4, 6) == std::vector<int64_t>{1, 2, 2, 3, 3, 4, 4, 4});
  CHECK(numbers(8, 3) == std::vector<int64_t>{2, 4, 6, 8, 8, 8, 8, 8});
  CHECK(numbers(1, 5) == std::vector<int64_t>{1, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("schedule: a decay that ends within the warm-up leaves min_lr behind it") {
  Schedule schedule{.type = ScheduleType::cosine,
                    .learning_rate = 1,
                    .min_lr = 0.1,
                    .warmup_iters = 10,
                    .lr_decay_iters = 5};
  CHECK(schedule.at(9) == doctest::Approx(10 / 11.0));
  CHECK(schedule.at(10) == 0.1);
}

TEST_CASE("schedule: a decay without an end, and numbers out of range") {
  for (ScheduleType type : {ScheduleType::linear, ScheduleType::cosine})
    for (int64_t step : {0, 100, 5000})
      CHECK(refusal([&] {
              (void)Schedule{.type = type, .learning_rate = 1e-3, .warmup_iters = 100}.at(step);
            }) == text("schedule: ", type,
                       " with lr_decay_iters 0, expected the step at which the decay ends, at "
                       "least 1"));
  auto refused = [](auto change) {
    Schedule schedule{.type = ScheduleType::noam, .lr_decay_iters = 10};
    change(schedule);
    return refusal([&] { (void)schedule.at(0); });
  };
  CHECK(refused([](auto& s) { s.learning_rate = -1; }) ==
        "schedule: learning_rate -1, expected at least 0");
  CHECK(refused([](auto& s) { s.min_lr = std::nan(""); }) ==
        "schedule: min_lr nan, expected at least 0");
  CHECK(refused([](auto& s) { s.warmup_iters = -1; }) ==
        "schedule: warmup_iters -1, expected at least 0");
  CHECK(refused([](auto& s) { s.lr_decay_iters = -1; }) ==
        "schedule: lr_decay_iters -1, expected at least 0");
  CHECK(refused([](auto& s) { s.d_model = 0; }) == "schedule: d_model 0, expected at least 1");
  CHECK(refusal([] { (void)Schedule{.lr_decay_iters = 1}.at(-1); }) ==
        "schedule: step -1, expected at least 0");
}
