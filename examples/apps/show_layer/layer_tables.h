#pragma once

// The tables of a worked example: of any layer that has terms, and of the recurrent net. Each
// function runs the layer on x [1, T, C] after `memory` [1, M, C], which may be undefined, and adds
// the formula and the tables.

#include "nn/local_rnn.h"
#include "nn/multi_head_attention.h"
#include "worked_example.h"

namespace show_layer {

/// Throws, in the layer's name, when it has no terms.
void add_tables(WorkedExample& example, const shiftgrad::Layer& layer, const shiftgrad::Tensor& x,
                const shiftgrad::Tensor& memory);
void add_tables(WorkedExample& example, const shiftgrad::LocalRnn& layer,
                const shiftgrad::Tensor& x, const shiftgrad::Tensor& memory);

/// Add what the terms of a layer give.
void add_attention(WorkedExample& example, const shiftgrad::Layer& layer,
                   const shiftgrad::RelativeAttention& terms, const shiftgrad::Tensor& x,
                   const shiftgrad::Tensor& memory);
void add_aft(WorkedExample& example, const shiftgrad::Layer& layer,
             const shiftgrad::AftTerms& terms, const shiftgrad::Tensor& x,
             const shiftgrad::Tensor& memory);

/// Adds what T target tokens x [1, T, C] read of a source [1, S, C].
void add_cross_attention(WorkedExample& example, const shiftgrad::MultiHeadAttention& layer,
                         const shiftgrad::Tensor& x, const shiftgrad::Tensor& source);

/// Returns a table of the values of a matrix [rows, columns], or of a list, as one row.
Table table_of(const std::string& name, const std::string& meaning, const Axis& row,
               const Axis& column, const shiftgrad::Tensor& values);

/// Returns the table of which keys the T queries after M keys can see.
Table visible_table(const shiftgrad::Visibility& visibility, int64_t T, int64_t M);

inline const Axis queries{"i"}, keys{"j"}, channels{"d"}, one_row{""};

}  // namespace show_layer
