#pragma once

// Parameters chosen by patterns of their names, as in shells. `*` stands for any part of a name,
// and commas separate patterns: "embedding.*,blocks.0.*". A pattern that matches no parameter is an
// error. A shared parameter has the name of its first owner alone; those who pass Visitor::tied
// hear of the others.

#include <string>
#include <vector>

#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns whether one of the patterns matches this name.
bool is_frozen(const std::string& name, const std::string& patterns);

/// Returns the parameters that match none of the patterns. Throws when all of them match.
std::vector<Parameter> trainable(const std::vector<Parameter>& parameters,
                                 const std::string& patterns,
                                 const std::vector<TiedName>& tied = {});

/// Returns the factor of each parameter's learning rate. It is given as `PATTERN=FACTOR`; the last
/// pattern that matches counts, and without one the factor is 1. Throws when a factor is not
/// greater than 0.
std::vector<double> learning_rate_factors(const std::vector<Parameter>& parameters,
                                          const std::string& patterns,
                                          const std::vector<TiedName>& tied = {});

/// Returns a line for each shared parameter that the patterns of either list treat otherwise than
/// one of its other names says: "freeze: output.weight is frozen with embedding.weight, tied to
/// it".
std::vector<std::string> tied_notes(const std::vector<TiedName>& tied, const std::string& freeze,
                                    const std::string& lr_scale);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
