#include "tests/bench/measure.h"

#include "core/errors.h"

namespace shiftgrad::bench {

double product_flops(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double causal_flops(int64_t B, int64_t T, int64_t remembered, int64_t C) {
  return product_flops(B, T * remembered + T * (T + 1) / 2, C);
}

std::vector<Case> cases_with(const std::string& text) {
  std::vector<Case> list;
  for (auto cases : {training_cases, layer_cases, attention_cases, shift_cases, writing_cases,
                     evaluation_cases, memory_cases, sequence_cases})
    for (const Case& c : cases())
      if (c.name.find(text) != std::string::npos) list.push_back(c);
  require(!list.empty(), "--only ", text, ": no case has this in its name");
  return list;
}

}  // namespace shiftgrad::bench
