#include "optim/batches.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"

namespace shiftgrad {

namespace {

void check(const char* name, const KeptText& text, int64_t batch_size, int64_t block_size,
           int64_t loss_tokens, int64_t streams) {
  Within within{name};
  within(range::zero_or_more, "loss_tokens", loss_tokens);
  within(range::one_or_more, "batch_size", batch_size);
  within(range::one_or_more, "block_size", block_size);
  int64_t tokens = text.size();
  require(tokens / streams > block_size, name, ": the text has ", tokens, " tokens, too few for ",
          streams > 1 ? "batch_size = " + std::to_string(streams) + " streams" : "a block",
          " of block_size + 1 = ", block_size + 1, "; lower ",
          streams > 1 ? "batch_size or block_size" : "block_size");
}

void check(const RandomBlocks& blocks) {
  Within{"RandomBlocks"}(range::one_or_more, "step", blocks.step);
  check("RandomBlocks", blocks.text, blocks.batch_size, blocks.block_size, blocks.loss_tokens, 1);
}

void check(const ParallelStreams& streams) {
  Within within{"ParallelStreams"};
  within(range::zero_or_more, "ext_len", streams.ext_len);
  within({0, HUGE_VAL}, "position", streams.position);
  check("ParallelStreams", streams.text, streams.batch_size, streams.block_size,
        streams.loss_tokens, std::max<int64_t>(streams.batch_size, 1));
}

/// Returns a place for each row of a batch.
std::vector<int64_t> rows_of(const char* name, int64_t batch_size) {
  std::vector<int64_t> begins;
  within_memory([&] { begins.resize(batch_size); }, name, ": batch_size ", batch_size);
  return begins;
}

/// Returns the targets of rows of this length.
Tokens targets(const KeptText& text, const std::vector<int64_t>& begins, int64_t length,
               int64_t loss_tokens) {
  int64_t count = loss_tokens > 0 ? std::min(loss_tokens, length) : length;
  return rows_at(text, begins, length + 1 - count, length + 1);
}

}  // namespace

Tokens rows_at(const KeptText& text, const std::vector<int64_t>& begins, int64_t first,
               int64_t end) {
  int64_t size = text.size(), length = 0;
  require(first <= end && !__builtin_sub_overflow(end, first, &length), "rows_at: tokens ", first,
          " to ", end, ", expected an end behind them");
  Tokens rows{{std::ssize(begins), length}, {}};
  within_memory([&] { rows.values.reserve(product(rows.shape)); }, "batch: rows of ", rows.shape);
  for (int64_t begin : begins) {
    int64_t from = 0;
    require(!__builtin_add_overflow(begin, first, &from) && 0 <= from && from <= size - length,
            "rows_at: ", length, " tokens from ", begin, " + ", first, " of a text of ", size);
    text.each(from, from + length, [&](int32_t token) { rows.values.push_back(token); });
  }
  return rows;
}

Batch rows(const Batch& batch, int64_t begin, int64_t end) {
  return {rows(batch.inputs, begin, end), rows(batch.targets, begin, end), batch.starts_over};
}

ParallelStreams::ParallelStreams(const KeptText& tokens, int64_t batch, int64_t block,
                                 int64_t again, int64_t scored)
    : text(tokens), batch_size(batch), block_size(block), ext_len(again), loss_tokens(scored) {
  check(*this);
}

Batch ParallelStreams::next() {
  check(*this);
  int64_t stream_length = text.size() / batch_size;
  int64_t predictable = stream_length - 1;  // the last token of a stream is only ever a target
  if (position >= predictable) position = 0;
  int64_t length = std::min(block_size, predictable - position);
  std::vector<int64_t> begins = rows_of("ParallelStreams", batch_size);
  for (int64_t b = 0; b < batch_size; ++b) begins[b] = b * stream_length + position;
  Batch batch{rows_at(text, begins, -std::min(ext_len, position), length),
              targets(text, begins, length, loss_tokens), position == 0};
  position += length;
  return batch;
}

RandomBlocks::RandomBlocks(const KeptText& tokens, int64_t batch, int64_t block,
                           const Random& start, int64_t scored, int64_t apart)
    : text(tokens),
      batch_size(batch),
      block_size(block),
      loss_tokens(scored),
      step(apart),
      random(start) {
  check(*this);
}

Batch RandomBlocks::next() {
  check(*this);
  std::vector<int64_t> begins = rows_of("RandomBlocks", batch_size);
  const int64_t places = (text.size() - block_size - 1) / step + 1;
  for (int64_t& begin : begins) begin = step * random.below(places);
  return {rows_at(text, begins, 0, block_size), targets(text, begins, block_size, loss_tokens)};
}

}  // namespace shiftgrad
