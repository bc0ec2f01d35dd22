// The gradients of attention, from those of its blocks. A task walks some blocks of one head in
// order and has sums of its own for what the blocks share (keys, values, tables). The sums of all
// tasks are added up afterwards, in a fixed tree.

#include <algorithm>

#include "core/machine/parallel.h"
#include "ops/attention/block_gradients.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void attention_backward(const RelativeAttention& a, const AttentionRecord& record,
                        const Tensor& dy) {
  AttentionProblem problem{a, record.parameters};
  int64_t heads = problem.B * problem.H, strips = problem.strips(), blocks = problem.blocks();
  AttentionGradients gradients{problem};
  BackwardFactors factors{problem, gradients};
  TileList tiles(problem);
  auto walk = [&](int64_t task, Zeros zeros, const BackwardScratch& scratch) {
    bool is_finite = true;
    for (TaskGradient& own : gradients.all) own.begin(task);
    for (int64_t number = task / heads; number < blocks; number += strips) {
      AttentionBlock block(problem, task % heads, number);
      BlockGradients backward{factors, scratch, record, block, task, zeros};
      backward.begin(dy);
      bool sees = tiles.for_tiles(block, [&](const AttentionTile& tile) { backward.add(tile); });
      if (!backward.finish(sees)) is_finite = false;
    }
    return is_finite && std::ranges::all_of(gradients.all, [&](const TaskGradient& own) {
             return own.is_finite(task);
           });
  };
  parallel_ranges(heads * strips, problem.grain(blocks / strips), [&](int64_t begin, int64_t end) {
    BackwardScratch scratch{{problem}};
    for (int64_t task = begin; task < end; ++task) {
      with_panels({&factors.scores.keys, &factors.keys, &factors.values}, task % heads, [&] {
        finite_or_selected([&](Zeros zeros) { return walk(task, zeros, scratch); });
      });
      for (TaskGradient& own : gradients.all) own.end(task);
    }
  });
  for (const TaskGradient& own : gradients.all) own.write_gradient();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
