// Times what users wait for and prints a table, or JSON: beside the milliseconds, which share of
// this machine's peak they reach, the limit of its multiply-adds in the precision of the products.
// The peak is measured in the same run, on the same threads.

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/precision.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/flags/program.h"
#include "tests/bench/measure.h"
#include "tests/bench/peak.h"

using namespace shiftgrad;
using namespace shiftgrad::bench;

namespace {

struct Flags {
  std::string only;
  int runs = 15;
  int threads = 0;
  Precision precision = Precision::float32;
  bool json = false;
};

void print_peaks(const Peaks& peaks) {
  std::printf("%s\n%-48s %9s %9s\n", cpu_name().c_str(), "GF/s", "1 thread",
              text(thread_count(), " threads").c_str());
  for (const Peak& peak : peaks.list())
    std::printf("%-48s %9.0f %9.0f\n", peak.name.c_str(), peak.one_thread, peak.all_threads);
  std::printf("\n");
}

void print_table(const std::vector<Case>& cases, int runs, const Peaks& peaks) {
  print_peaks(peaks);
  std::printf("%-48s %9s %9s %9s %9s %7s %7s %7s %7s %8s\n", "", "min ms", "median", "max",
              "tokens/s", "GF/s", "of peak", "allocs", "faults", "MB");
  for (const Case& c : cases) {
    Result r = c.run(runs);
    double gflops = r.flops / r.median() * 1e-6;
    std::printf("%-48s %9.2f %9.2f %9.2f %9.0f %7.1f %6.0f%% %7ld %7ld %8.1f\n", c.name.c_str(),
                r.milliseconds.front(), r.median(), r.milliseconds.back(),
                1000 * r.tokens / r.median(), gflops,
                100 * gflops / peaks.limit(product_precision()), static_cast<long>(r.allocations),
                static_cast<long>(r.page_faults), static_cast<double>(r.bytes) / 1e6);
    std::fflush(stdout);
  }
}

nlohmann::ordered_json as_json(const Peaks& peaks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Peak& peak : peaks.list())
    list.push_back({{"name", peak.name},
                    {"one_thread_gflops", peak.one_thread},
                    {"all_threads_gflops", peak.all_threads}});
  return list;
}

void print_json(const std::vector<Case>& cases, int runs, const Peaks& peaks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Case& c : cases) {
    Result r = c.run(runs);
    list.push_back(
        {{"name", c.name},
         {"milliseconds", r.milliseconds},
         {"tokens", r.tokens},
         {"flops", r.flops},
         {"share_of_peak", r.flops / r.median() * 1e-6 / peaks.limit(product_precision())},
         {"system_allocations", r.allocations},
         {"page_faults", r.page_faults},
         {"bytes", r.bytes}});
  }
  nlohmann::ordered_json report = {{"cpu", cpu_name()},
                                   {"threads", thread_count()},
                                   {"precision", name_of(product_precision())},
                                   {"peaks", as_json(peaks)},
                                   {"peak_gflops", peaks.limit(product_precision())},
                                   {"cases", list}};
  std::cout << report.dump(2) << std::endl;
}

}  // namespace

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  initialize();
  Flags flags;
  auto program = apps::make_program("Times training steps, layers, writing and scoring.", "bench");
  apps::add_flag(*program, "only", flags.only, "TEXT", "cases with this in their name");
  apps::add_flag(*program, "runs", flags.runs, "RUNS", "timed runs of a case", range::one_or_more);
  apps::add_flag(*program, "threads", flags.threads, "THREADS", "0 for one a core",
                 range::thread_count);
  apps::add_flag(*program, "precision", flags.precision, "", "numbers that products multiply");
  apps::add_switch(*program, "json", flags.json, "JSON instead of a table");
  auto prepare = [&]() -> apps::Command::Work {
    return [&, cases = cases_with(flags.only)] {
      set_product_precision(flags.precision);
      std::unique_ptr<ThreadLimit> limit;
      if (flags.threads > 0) limit = std::make_unique<ThreadLimit>(flags.threads);
      (flags.json ? print_json : print_table)(cases, flags.runs, measure_peaks());
    };
  };
  return apps::run_program(*program, {{program.get(), prepare}}, count, arguments);
}
