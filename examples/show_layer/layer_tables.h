#pragma once

// The tables of a worked example, by kind of layer. Each function makes the layer that the config
// describes, runs it on x [1, T, C] after `memory` [1, M, C], which may be undefined, and adds the
// formula and the tables.

#include "shiftgrad/nn/models/mixers.h"
#include "worked_example.h"

namespace show_layer {

void add_tables(WorkedExample& example, const shiftgrad::MultiHeadAttentionConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::TransformerXLAttentionConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::RelativeMultiHeadAttentionConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::RelativeGlobalAttentionConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::ShawAttentionConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::AftConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::LocalRnnConfig& config,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);

/// Returns a table of the values of a matrix [rows, columns], or of a list, as one row.
Table table_of(const std::string& name, const std::string& meaning, const Axis& row,
               const Axis& column, const shiftgrad::Tensor& values);

/// Returns the table of which keys the T queries after M keys can see.
Table visible_table(const shiftgrad::Visibility& visibility, int64_t T, int64_t M);

inline const Axis queries{"i"}, keys{"j"}, channels{"d"}, one_row{""};

}  // namespace show_layer
