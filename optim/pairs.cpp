#include "optim/pairs.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

PairBatch make_batch(std::span<const TokenPair> pairs, std::span<const int64_t> members,
                     const TargetEnds& ends) {
  std::vector<std::vector<int32_t>> sources, inputs, next;
  PairBatch batch;
  for (int64_t member : members) {
    require(0 <= member && member < std::ssize(pairs), "pairs: member ", member, " of ",
            pairs.size());
    const auto& [source, target] = pairs[member];
    sources.push_back(source);
    std::vector<int32_t>& input = inputs.emplace_back(1, ends.begin);
    input.insert(input.end(), target.begin(), target.end());
    next.push_back(target);
    next.back().push_back(ends.end);
    batch.tokens += std::ssize(input);
  }
  batch.source = pad(sources);
  batch.inputs.values = pad(inputs).values;
  batch.next = pad(next, PairBatch::filled_up).values;
  return batch;
}

PairBatch rows(const PairBatch& batch, int64_t begin, int64_t end) {
  PairBatch part;
  part.source.values = rows(batch.source.values, begin, end);
  if (batch.source.mask)
    part.source.mask = std::make_shared<const Mask>(rows(*batch.source.mask, begin, end));
  part.inputs.values = rows(batch.inputs.values, begin, end);
  part.next = rows(batch.next, begin, end);
  part.tokens =
      std::ssize(part.next.values) - std::ranges::count(part.next.values, PairBatch::filled_up);
  return part;
}

Epochs::Shorter shorter_of(const ViewOrOwned<TokenPair>& pairs) {
  return [pairs](int64_t a, int64_t b) {
    auto lengths = [](const TokenPair& pair) {
      return std::pair(pair.target.size(), pair.source.size());
    };
    return lengths(pairs.view()[a]) < lengths(pairs.view()[b]);
  };
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
