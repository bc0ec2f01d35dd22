#include "nn/models/block.h"

#include <algorithm>

#include "nn/caches.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor Block::forward(const Tensor& input, const Past& past, Context& context) const {
  check_input(name, input, past.memory(), parts.front().norm.weight.size(0));
  auto* caches = past.cache<Caches>();
  Tensor x = input;
  for (size_t n = 0; n < parts.size(); ++n) {
    const auto& [part, function, norm_name, norm] = parts[n];
    Past own;
    if (caches)
      own = *caches->parts[n];
    else if (n == 0 && past.memory().defined())
      own = norm_first ? norm(past.memory()) : past.memory();  // [B, M, C]
    bool has_norm = norm.weight.defined();
    Tensor y = function->step(norm_first && has_norm ? norm(x) : x, own, context);
    x = add_dropped(x, y, context.dropout_pattern(dropout));
    if (!norm_first && has_norm) x = norm(x);
  }
  return x;
}

std::unique_ptr<Cache> Block::make_cache(int64_t limit) const {
  auto cache = new_cache<Caches>();
  for (const Part& part : parts) cache->parts.push_back(part.function->make_cache(limit));
  return cache;
}

Limits Block::limits() const {
  Limits all;
  for (const Part& part : parts) all = all.with(part.function->limits());
  return all;
}

bool Block::sees_ahead() const {
  return std::ranges::any_of(parts, [](const Part& part) { return part.function->sees_ahead(); });
}

void Block::visit(Visitor& visitor) const {
  for (const auto& [part, function, norm_name, norm] : parts) {
    visitor(part, *function);
    visitor(norm_name, norm);
  }
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
