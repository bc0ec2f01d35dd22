#pragma once

// A program around one module, a layer or a model, which computes with PyTorch's parameters for the
// length of a call.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lent_parameters.h"
#include "program.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

template <class Config>
class ModuleProgram : public Program {
 public:
  std::vector<Parameter> initial_parameters() const override { return parameters(module_); }

 protected:
  /// `inputs` are the names of the three tensors before the parameters.
  ModuleProgram(const Config& config, std::vector<std::string> inputs, Init init)
      : Program(Config::type, std::move(inputs)),
        module_(make_layer(config, init)),
        lent_(name_, module_) {
    takes_also(lent_.names());
  }

  /// Lends the module the parameters among the tensors that `run` takes.
  [[nodiscard]] LentParameters::Guard lend(std::span<const Tensor> tensors) const {
    expect_all(tensors);
    return lent_.lend(tensors.subspan(3));
  }

  typename Config::Layer module_;

 private:
  LentParameters lent_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
