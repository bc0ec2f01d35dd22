#pragma once

// A layer worked through on one small case: every array between its input and its output, under the
// names of nn/README.md. The numbers are the library's own: the terms are those of Layer::terms,
// the probabilities are made from them, y is the layer's output.
//
// The weights are chosen so that q, k, v and all learned tables hold whole numbers: x is drawn from
// -1, 0 and 1, W_q is the identity, W_k and W_v move the channels by one and by two. So q, k and v
// are the same in all variants of attention.

#include <cstdint>
#include <string>
#include <vector>

#include "nn/layer.h"

namespace show_layer {

/// What the rows or the columns of a table are counted by: `first`, `first` + `step`, ….
struct Axis {
  std::string name;
  int64_t first = 0, step = 1;

  /// Returns the name of row or column n, such as "j=0".
  std::string label(int64_t n) const;
};

/// A matrix [rows, columns] of the example.
struct Table {
  std::string name;
  std::string meaning;
  Axis row, column;
  int64_t rows = 0, columns = 0;
  std::vector<double> values;
  /// Whether it has a value for each query and key, some of which the mask hides.
  bool has_hidden = false;
};

/// The name of the table that says which pairs of query and key are visible: 1, or 0 for hidden.
inline const std::string visible = "visible";

struct WorkedExample {
  std::string layer;
  std::string formula;
  std::vector<Table> tables;

  /// Returns the table of that name. Throws when there is none.
  const Table& operator[](const std::string& name) const;
};

/// Works through a layer for T new tokens after M remembered ones. `layer` is a mixer's type, with
/// keys of its config after a colon: "aft:form=local,window=2". "cross_attention" is that of T
/// target tokens to a source of M. The example has one batch member, and shows the first head.
/// Throws an Error that names what is wrong.
WorkedExample worked_example(const std::string& layer, int64_t T, int64_t M);

/// Works through a mixer that the library need not know, for x of d_model channels. Gives its
/// parameters the whole numbers above. Throws an Error in the mixer's name when it has no terms.
WorkedExample worked_example(shiftgrad::Layer& mixer, int64_t d_model, int64_t T, int64_t M);

/// Works through a mixer with the parameters that it has, for x [1, T, C] after `memory` [1, M, C],
/// which may be undefined. Throws as above, or names the shape of x.
WorkedExample worked_example(const shiftgrad::Layer& mixer, const shiftgrad::Tensor& x,
                             const shiftgrad::Tensor& memory);

/// Names of layers that differ in what they show, as worked_example takes them.
const std::vector<std::string>& layers_to_show();

}  // namespace show_layer
