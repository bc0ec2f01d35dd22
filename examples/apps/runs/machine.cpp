#include "machine.h"

#include <algorithm>
#include <thread>

#include "core/errors.h"
#include "core/machine/limits.h"
#include "core/machine/parallel.h"
#include "examples/apps/draw/fixed.h"

namespace apps {

using shiftgrad::Parameter;
using shiftgrad::text;

namespace {

std::string gigabytes(double bytes) { return text(fixed(bytes / 1e9, bytes < 1e9 ? 3 : 1), " GB"); }

/// Returns the bytes of these parameters, in a type that no number of them overflows.
double parameter_bytes(const std::vector<Parameter>& parameters) {
  double bytes = 0;
  for (const Parameter& parameter : parameters)
    bytes += static_cast<double>(parameter.value.count()) * sizeof(shiftgrad::Scalar);
  return bytes;
}

/// Says what this process may have.
std::string allowed() {
  return text("this process may have ", gigabytes(static_cast<double>(shiftgrad::memory_limit())),
              " (the machine's, or its container's limit)");
}

}  // namespace

std::string machine_text() {
  shiftgrad::CgroupLimits limits = shiftgrad::cgroup_limits();
  std::string quota =
      limits.cpus ? text("a quota of ", fixed(*limits.cpus, 2), " CPUs") : "no quota";
  return text("threads: ", shiftgrad::thread_count(), " by default (",
              std::thread::hardware_concurrency(), " CPUs, ", quota,
              ")\nmemory: ", gigabytes(static_cast<double>(shiftgrad::memory_limit())));
}

void refuse_weights(int64_t values) {
  shiftgrad::fail("the weights alone need more than ",
                  gigabytes(static_cast<double>(values) * sizeof(shiftgrad::Scalar)),
                  " of memory, and ", allowed());
}

void require_memory(const std::vector<Parameter>& all, const std::vector<Parameter>& learning,
                    int moments, double activations) {
  const double weights = parameter_bytes(all), gradients = parameter_bytes(learning);
  const double kept = std::max(gradients, activations * sizeof(shiftgrad::Scalar));
  const double needed = weights + moments * gradients + kept;
  shiftgrad::require(needed <= static_cast<double>(shiftgrad::memory_limit()),
                     "the training needs at least ", gigabytes(needed), " of memory, ",
                     gigabytes(weights), " for weights, ", gigabytes(moments * gradients),
                     " for what the optimizer keeps and ", gigabytes(kept), " for a step, and ",
                     allowed());
}

}  // namespace apps
