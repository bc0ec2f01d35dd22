#include "alignments.h"

#include "examples/apps/draw/finite.h"
#include "run.h"

namespace seq2seq {

using apps::AttentionMap;
using shiftgrad::Tensor;
using shiftgrad::text;

namespace {

/// Returns the mean over some of the heads of [1, H, T, S].
std::vector<double> mean_of_heads(const Tensor& weights, int64_t begin, int64_t end) {
  std::vector<shiftgrad::Scalar> values = weights.values();
  int64_t size = weights.size(2) * weights.size(3);
  std::vector<double> mean(static_cast<size_t>(size));
  for (int64_t h = begin; h < end; ++h)
    for (int64_t n = 0; n < size; ++n)
      mean[static_cast<size_t>(n)] +=
          apps::finite(values[static_cast<size_t>(h * size + n)], "an attention weight") /
          static_cast<double>(end - begin);
  return mean;
}

}  // namespace

std::vector<std::vector<AttentionMap>> alignments(const shiftgrad::EncoderDecoder& model,
                                                  const std::vector<int32_t>& source,
                                                  const std::vector<int32_t>& target,
                                                  bool by_head) {
  std::vector<int32_t> inputs = {target_ends.begin};
  inputs.insert(inputs.end(), target.begin(), target.end());
  std::vector<std::vector<AttentionMap>> maps;
  shiftgrad::Context context;
  shiftgrad::Encoded encoded = model.encode(shiftgrad::pad({source}), context);
  model.decode(shiftgrad::pad({inputs}), encoded, context, [&](const Tensor& weights) {
    std::vector<AttentionMap>& row = maps.emplace_back();
    std::string block = text("block ", maps.size() - 1);
    int64_t heads = weights.size(1);
    for (int64_t h = 0; by_head && h < heads; ++h)
      row.push_back({text(block, ", head ", h), mean_of_heads(weights, h, h + 1)});
    if (!by_head)
      row.push_back({text(block, ", mean of ", heads, " heads"), mean_of_heads(weights, 0, heads)});
  });
  return maps;
}

std::vector<std::string> rows_of(const std::string& target, Unit unit) {
  std::vector<std::string> rows = split(target, unit);
  rows.push_back("end");
  return rows;
}

}  // namespace seq2seq
