#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::bench {

/// What several runs of a piece of work took.
struct Result {
  std::vector<double> milliseconds;  // in increasing order
  double flops = 0;                  // of one run, by formula; 0 where none is stated
  double tokens = 0;                 // of one run
  int64_t allocations = 0;           // from the system, in the timed runs together
  int64_t page_faults = 0;           // in them together
  int64_t bytes = 0;                 // the most in use in them, beyond what was in use before

  double median() const { return milliseconds[milliseconds.size() / 2]; }
};

/// A line of the table.
struct Case {
  std::string name;
  std::function<Result(int runs)> run;
};

/// Three runs that are not counted, then `runs` that are. `bench` times them, `scaling` records
/// them.
Result timed(int runs, const std::function<void()>& work);

/// 2 m n k, the operations of a product.
double product_flops(int64_t m, int64_t n, int64_t k);

/// Returns the operations of B causal products of T queries with as many keys and `remembered` ones
/// before them, in C channels. Only the pairs that a query sees count.
double causal_flops(int64_t B, int64_t T, int64_t remembered, int64_t C);

// Each file has its list.
std::vector<Case> training_cases();
std::vector<Case> layer_cases();
std::vector<Case> attention_cases();
std::vector<Case> shift_cases();
std::vector<Case> writing_cases();
std::vector<Case> evaluation_cases();
std::vector<Case> memory_cases();
std::vector<Case> sequence_cases();

/// Returns the cases of all lists that have the text in their name. Throws when none has.
std::vector<Case> cases_with(const std::string& text);

}  // namespace shiftgrad::bench
