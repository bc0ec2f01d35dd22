#include "core/broadcast_sums.h"

#include <algorithm>
#include <functional>

#include "core/machine/matrix.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

Scalar sum_run(const Scalar* x, int64_t step, int64_t length) {
  if (step == 1) return simd::sum(x, length);
  Scalar total = 0;
  for (int64_t n = 0; n < length; ++n) total += x[n * step];
  return total;
}

/// The axes of `target`'s shape, split into those it keeps and those it is broadcast along.
struct BroadcastAxes {
  Layout target_kept, source_kept, source_summed;

  BroadcastAxes(const Layout& target, const Layout& source) {
    auto summed = [&](int axis) { return target.is_broadcast(axis); };
    target_kept = target.keep_axes(std::not_fn(summed));
    source_kept = source.keep_axes(std::not_fn(summed));
    source_summed = source.keep_axes(summed);
    source_summed.offset = 0;
  }

  /// Whether the source is densest along a summed axis: then each sum is a run.
  bool sums_along_runs() const {
    return source_kept.count() == 1 ||
           (!source_summed.shape.empty() && source_summed.strides.back() == 1);
  }
};

/// Adds up the runs of each kept element.
void sum_along_runs(Scalar beta, Scalar* target, const Scalar* source, const BroadcastAxes& axes,
                    Scalar alpha) {
  Walk<2> kept({&axes.target_kept, &axes.source_kept});
  Walk<1> summed({&axes.source_summed});
  constexpr int64_t tile = 8192;
  int64_t tiles = divide_up(summed.count(), tile);
  auto total = [&](const Scalar* first) {
    return parallel_reduce<Scalar>(
        tiles,
        [&](int64_t t) {
          Scalar part = 0;
          summed.range(t * tile, std::min((t + 1) * tile, summed.count()), [&](const auto& run) {
            part += sum_run(first + run.at[0], run.step[0], run.length);
          });
          return part;
        },
        [](Scalar a, Scalar b) { return a + b; });
  };
  parallel_ranges(kept.count(), 64, [&](int64_t begin, int64_t end) {
    kept.each(begin, end, [&](const auto& at) {
      Scalar& element = target[at[0]];
      Scalar old = beta == 0 ? 0 : beta * element;
      element = old + alpha * total(source + at[1]);
    });
  });
}

/// Adds up whole slices of kept elements: first in groups of 64 slices, then the groups. The sums
/// of a single group stay in the first cache.
void sum_slices(Scalar beta, Scalar* target, const Scalar* source, const BroadcastAxes& axes,
                Scalar alpha) {
  constexpr int64_t group = 64, width = 4096;
  Layout dense = Layout::contiguous(axes.source_kept.shape);
  Walk<2> to_partial({&dense, &axes.source_kept});
  Walk<2> to_target({&axes.target_kept, &dense});
  Walk<1> slices({&axes.source_summed});
  int64_t count = dense.count();
  int64_t groups = divide_up(slices.count(), group);
  int64_t columns = divide_up(count, width);
  auto add_group = [&](int64_t g, int64_t begin, Scalar* sums) {
    Scalar first = 0;
    slices.range(g * group, std::min((g + 1) * group, slices.count()), [&](const auto& slice) {
      for (int64_t n = 0; n < slice.length; ++n, first = 1)
        to_partial.range(begin, std::min(begin + width, count), [&](const auto& run) {
          add_run(1, source + slice.at[0] + n * slice.step[0] + run.at[1], run.step[1], first,
                  sums + run.at[0], 1, run.length);
        });
    });
  };
  auto add_to_target = [&](int64_t begin, int64_t end, const Scalar* sums, Scalar kept) {
    to_target.range(begin, end, [&](const auto& run) {
      add_run(alpha, sums + run.at[1], 1, kept, target + run.at[0], run.step[0], run.length);
    });
  };
  if (groups == 1)
    return parallel_for(columns, [&](int64_t column) {
      int64_t begin = column * width;
      Buffer sums(width);
      add_group(0, begin, sums.data() - begin);
      add_to_target(begin, std::min(begin + width, count), sums.data() - begin, beta);
    });
  Buffer partial(groups * count);
  parallel_for(groups * columns, [&](int64_t tile) {
    int64_t g = tile / columns;
    add_group(g, tile % columns * width, partial.data() + g * count);
  });
  parallel_ranges(count, width, [&](int64_t begin, int64_t end) {
    for (int64_t g = 0; g < groups; ++g)
      add_to_target(begin, end, partial.data() + g * count, g == 0 ? beta : 1);
  });
}

}  // namespace

void add_sums(Scalar beta, Scalar* target, const Layout& to, const Scalar* source,
              const Layout& from, Scalar alpha) {
  BroadcastAxes axes(to, from);
  axes.sums_along_runs() ? sum_along_runs(beta, target, source, axes, alpha)
                         : sum_slices(beta, target, source, axes, alpha);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
