// Says what more threads would bring. Each case runs on one thread, and every tile of its parallel
// regions is timed, with what runs between them; a greedy schedule of these tiles predicts the time
// on any number of threads. Results have the same bits on all of them, so the tiles are those of
// any number.
//
//     time on P threads = Σ alone + Σ over regions (cost of a region + the schedule of its tiles)

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/precision.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/program.h"
#include "tests/bench/measure.h"
#include "tests/bench/recorded_threads.h"

using namespace shiftgrad;
using namespace shiftgrad::bench;

namespace {

/// What `timed` recorded: of each tile, and of what stands between regions, the shortest of all
/// runs, since whatever else the machine does makes some longer.
Recording shortest;

void take_shortest(Recording& of_all, const Recording& run) {
  require(of_all.size() == run.size(), "the runs of a case differ, which are to be the same");
  for (size_t n = 0; n < run.size(); ++n) {
    of_all[n].alone = std::min(of_all[n].alone, run[n].alone);
    for (size_t tile = 0; tile < run[n].tiles.size(); ++tile)
      of_all[n].tiles[tile] = std::min(of_all[n].tiles[tile], run[n].tiles[tile]);
  }
}

double work_of(const Recording& recording) {
  double seconds = 0;
  for (const Region& region : recording) seconds += region.alone + region.work();
  return seconds;
}

/// The time until all tiles are done when each goes to the thread that is free first.
double schedule(const std::vector<double>& tiles, int threads) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int thread = 0; thread < threads; ++thread) free_at.push(0);
  double end = 0;
  for (double seconds : tiles) {
    double done = free_at.top() + seconds;
    free_at.pop();
    free_at.push(done);
    end = std::max(end, done);
  }
  return end;
}

/// The time of a region on so many threads, without what comes before it.
double time_of(const Region& region, int threads, double region_cost) {
  if (region.tiles.empty()) return 0;
  return schedule(region.tiles, threads) + (threads > 1 ? region_cost : 0);
}

double predicted(const Recording& recording, int threads, double region_cost) {
  double seconds = 0;
  for (const Region& region : recording)
    seconds += region.alone + time_of(region, threads, region_cost);
  return seconds;
}

/// What all regions of one function are together.
struct Sum {
  int64_t calls = 0;
  size_t fewest = SIZE_MAX, most = 0;
  double alone = 0, work = 0, lost = 0;  // seconds; lost beside an even share of the work
};

void print_regions(const Recording& recording, int threads, double region_cost) {
  std::map<std::string, Sum> sums;
  for (const Region& region : recording) {
    Sum& sum = sums[region.name()];
    ++sum.calls;
    sum.fewest = std::min(sum.fewest, region.tiles.size());
    sum.most = std::max(sum.most, region.tiles.size());
    sum.alone += region.alone;
    sum.work += region.work();
    sum.lost += time_of(region, threads, region_cost) - region.work() / threads + region.alone;
  }
  std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second.lost > b.second.lost; });
  std::printf("    %8s %8s %6s %11s  on %d threads\n", "lost ms", "alone", "work", "tiles",
              threads);
  for (const auto& [name, sum] : order)
    std::printf("    %8.3f %8.3f %6.2f %5zu-%-5zu  %ld x %s\n", sum.lost * 1e3, sum.alone * 1e3,
                sum.work * 1e3, sum.fewest, sum.most, static_cast<long>(sum.calls), name.c_str());
}

struct Flags {
  std::string only = "transformer L6";
  int runs = 5;
  double region_us = 3;
  int threads = 0;
  Precision precision = Precision::float32;
};

constexpr int counts[] = {2, 4, 8, 16, 32, 64};

void print_table(const std::vector<Case>& cases, const Flags& flags) {
  double region_cost = flags.region_us * 1e-6;
  std::printf("%-40s %9s %9s", "milliseconds by threads", "1", "span");
  for (int threads : counts) std::printf(" %12d", threads);
  std::printf("\n");
  for (const Case& c : cases) {
    c.run(flags.runs);
    double work = work_of(shortest);
    std::printf("%-40s %9.2f %9.2f", c.name.c_str(), work * 1e3,
                predicted(shortest, INT16_MAX, 0) * 1e3);
    for (int threads : counts) {
      double seconds = predicted(shortest, threads, region_cost);
      std::printf(" %7.2f %3.0f%%", seconds * 1e3, 100 * work / seconds / threads);
    }
    std::printf("\n");
    if (flags.threads > 0) print_regions(shortest, flags.threads, region_cost);
    std::fflush(stdout);
  }
}

}  // namespace

Result shiftgrad::bench::timed(int runs, const std::function<void()>& work) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) work();
  shortest = recorded(work);
  for (int run = 1; run < runs; ++run) take_shortest(shortest, recorded(work));
  return {.milliseconds = {work_of(shortest) * 1e3}};
}

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  initialize();
  Flags flags;
  auto program =
      apps::make_program("Predicts what more threads would bring, from a run on one.", "scaling");
  apps::add_flag(*program, "only", flags.only, "TEXT", "cases with this in their name");
  apps::add_flag(*program, "runs", flags.runs, "RUNS",
                 "recorded runs, of whose tiles the shortest count", range::one_or_more);
  apps::add_flag(*program, "region_us", flags.region_us, "MICROSECONDS",
                 "what threads take to begin and to end a region", range::zero_or_more);
  apps::add_flag(*program, "threads", flags.threads, "THREADS",
                 "also print what each function loses on so many", range::thread_count);
  apps::add_flag(*program, "precision", flags.precision, "", "numbers that products multiply");
  auto prepare = [&]() -> apps::Command::Work {
    return [&, cases = cases_with(flags.only)] {
      set_product_precision(flags.precision);
      print_table(cases, flags);
    };
  };
  return apps::run_program(*program, {{program.get(), prepare}}, count, arguments);
}
