// The tables of LocalRNN: its hidden states, step by step through all windows at once.

#include <algorithm>

#include "layer_tables.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace show_layer {

using namespace shiftgrad;

void add_tables(WorkedExample& example, const LocalRnn& layer, const Tensor& x,
                const Tensor& memory) {
  int64_t T = x.size(1), M = memory.defined() ? memory.size(1) : 0, s = layer.config.window;
  int64_t missing = std::max<int64_t>(0, s - 1 - M), known = s - 1 - missing;
  Tensor zeros = missing > 0 ? Tensor::zeros({1, missing, x.size(2)}) : Tensor();
  Tensor tail = known > 0 ? slice(memory, 1, M - known, M) : Tensor();
  Tensor read = concat({zeros, tail, x}, 1);  // [1, s - 1 + T, C]
  Tensor projected = layer.project(read);

  auto add = [&](const std::string& name, const std::string& meaning, const Axis& row,
                 const Tensor& values) {
    example.tables.push_back(table_of(name, meaning, row, channels, values));
  };
  Axis tokens{"t", M - (s - 1)};
  add("x", "the tokens in the windows; vectors of 0 stand before the start", tokens, read);
  add("W x + b", "each token's projection, for each gate, made once", tokens, projected);
  RecurrentState state;
  for (int64_t n = 1; n <= s; ++n) {
    state = layer.step(slice(projected, 1, n - 1, n - 1 + T), state);
    std::string after = " after " + std::to_string(n) + " of " + std::to_string(s);
    if (state.c.defined()) add("c" + after, "cells of the windows, one a row", queries, state.c);
    add("h" + after, "hidden states of the windows, one a row", queries, state.h);
  }
  Context context;
  add("y", "output: the last hidden states", queries, layer(x, memory, context));
  example.formula = std::string("h_n = ") + name_of(layer.config.cell) +
                    "(W x_(i-s+n) + b, h_(n-1)),   h_0 = 0,   y_i = h_s";
}

}  // namespace show_layer
