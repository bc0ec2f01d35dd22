#pragma once

#include <nanobind/nanobind.h>

/// Adds the functions of one precision to a module.
void bind_float32(nanobind::module_& module);
void bind_float64(nanobind::module_& module);
