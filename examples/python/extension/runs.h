#pragma once

#include <nanobind/nanobind.h>

/// Adds to a module what Python needs of the runs of char_lm and seq2seq: `load_run`, and the
/// vocabularies Characters and Symbols.
void bind_runs(nanobind::module_& module);
