#include "optim/batches.h"

#include <algorithm>

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
          streams > 1 ? "batch_size = " + std::to_string(streams) + " streams" : "a block",
          " of block_size + 1 = ", block_size + 1, "; lower ",
          streams > 1 ? "batch_size or block_size" : "block_size");
}

/// Returns the targets of rows of this length.
Tokens targets(std::span<const int32_t> text, const std::vector<int64_t>& begins, int64_t length,
               int64_t loss_tokens) {
  int64_t count = loss_tokens > 0 ? std::min(loss_tokens, length) : length;
  return rows_at(text, begins, length + 1 - count, length + 1);
}

}  // namespace

Tokens rows_at(std::span<const int32_t> text, const std::vector<int64_t>& begins, int64_t first,
               int64_t end) {
  Tokens rows{{std::ssize(begins), end - first}, {}};
  for (int64_t begin : begins)
    rows.values.insert(rows.values.end(), text.begin() + begin + first, text.begin() + begin + end);
  return rows;
}

Batch rows(const Batch& batch, int64_t begin, int64_t end) {
  return {rows(batch.inputs, begin, end), rows(batch.targets, begin, end), batch.starts_over};
}

RandomBlocks::RandomBlocks(const Kept<int32_t>& tokens, int64_t batch, int64_t block,
                           const Random& start, int64_t scored)
    : text(tokens), batch_size(batch), block_size(block), loss_tokens(scored), random(start) {
  check("RandomBlocks", text, batch_size, block_size, 1);
}

Batch RandomBlocks::next() {
  std::vector<int64_t> begins(batch_size);
  for (int64_t& begin : begins)
    begin = random.below(std::ssize(text.view()) - block_size);
  return {rows_at(text, begins, 0, block_size), targets(text, begins, block_size, loss_tokens)};
}

ParallelStreams::ParallelStreams(const Kept<int32_t>& tokens, int64_t batch, int64_t block,
                                 int64_t again, int64_t scored)
    : text(tokens), batch_size(batch), block_size(block), ext_len(again), loss_tokens(scored) {
  AtLeast{"ParallelStreams"}(0, "ext_len", ext_len);
  check("ParallelStreams", text, batch_size, block_size, std::max<int64_t>(batch_size, 1));
}

Batch ParallelStreams::next() {
  int64_t stream_length = std::ssize(text.view()) / batch_size;
  int64_t predictable = stream_length - 1;  // the last token of a stream is only ever a target
  if (position >= predictable) position = 0;
  int64_t length = std::min(block_size, predictable - position);
  std::vector<int64_t> begins(batch_size);
  for (int64_t b = 0; b < batch_size; ++b) begins[b] = b * stream_length + position;
  Batch batch{rows_at(text, begins, -std::min(ext_len, position), length),
              targets(text, begins, length, loss_tokens), position == 0};
  position += length;
  return batch;
}

}  // namespace shiftgrad
