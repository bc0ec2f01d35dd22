#include "optim/batches.h"

#include <algorithm>
#include <vector>

#include "core/checked.h"
#include "core/errors.h"

namespace shiftgrad {

namespace {

void check(const char* name, std::span<const int32_t> text, int64_t batch_size, int64_t block_size,
           int64_t streams) {
  AtLeast at_least{name};
  at_least(1, "batch_size", batch_size);
  at_least(1, "block_size", block_size);
  auto tokens = static_cast<int64_t>(text.size());
  require(tokens / streams > block_size, name, ": the text has ", tokens, " tokens, too few for ",
          streams > 1 ? std::to_string(streams) + " streams" : "a block",
          " of block_size + 1 = ", block_size + 1);
}

/// Makes a batch whose row b holds the tokens from begins[b] on, and as targets the tokens after
/// them. The inputs begin `again` tokens earlier.
Batch cut(std::span<const int32_t> text, const std::vector<int64_t>& begins, int64_t length,
          int64_t again = 0) {
  auto B = static_cast<int64_t>(begins.size());
  Batch batch{.inputs = {{B, again + length}, {}}, .targets = {{B, length}, {}}};
  for (int64_t begin : begins) {
    auto first = text.begin() + begin;
    batch.inputs.values.insert(batch.inputs.values.end(), first - again, first + length);
    batch.targets.values.insert(batch.targets.values.end(), first + 1, first + length + 1);
  }
  return batch;
}

}  // namespace

Batch rows(const Batch& batch, int64_t begin, int64_t end) {
  return {rows(batch.inputs, begin, end), rows(batch.targets, begin, end), batch.starts_over};
}

RandomBlocks::RandomBlocks(std::span<const int32_t> tokens, int64_t batch, int64_t block,
                           const Random& start)
    : text(tokens), batch_size(batch), block_size(block), random(start) {
  check("RandomBlocks", text, batch_size, block_size, 1);
}

Batch RandomBlocks::next() {
  std::vector<int64_t> begins(batch_size);
  for (int64_t& begin : begins)
    begin = random.below(static_cast<int64_t>(text.size()) - block_size);
  return cut(text, begins, block_size);
}

ParallelStreams::ParallelStreams(std::span<const int32_t> tokens, int64_t batch, int64_t block,
                                 int64_t again)
    : text(tokens), batch_size(batch), block_size(block), ext_len(again) {
  AtLeast{"ParallelStreams"}(0, "ext_len", ext_len);
  check("ParallelStreams", text, batch_size, block_size, std::max<int64_t>(batch_size, 1));
}

Batch ParallelStreams::next() {
  int64_t stream_length = static_cast<int64_t>(text.size()) / batch_size;
  int64_t predictable = stream_length - 1;  // the last token of a stream is only ever a target
  if (position >= predictable) position = 0;
  int64_t length = std::min(block_size, predictable - position);
  std::vector<int64_t> begins(batch_size);
  for (int64_t b = 0; b < batch_size; ++b) begins[b] = b * stream_length + position;
  Batch batch = cut(text, begins, length, std::min(ext_len, position));
  batch.starts_over = position == 0;
  position += length;
  return batch;
}

}  // namespace shiftgrad
