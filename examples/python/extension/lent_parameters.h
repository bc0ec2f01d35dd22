#pragma once

// A module that computes with PyTorch's parameters for the length of a call.

#include <span>
#include <string>
#include <vector>

#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

class LentParameters {
 public:
  /// `name` is the module's, in errors. The module must outlive this object.
  LentParameters(std::string name, Module& module);

  size_t size() const { return parameters_.size(); }
  std::vector<std::string> names() const;

  /// The module's parameters are given ones while this guard lives, and undefined afterwards.
  class Guard {
   public:
    explicit Guard(const LentParameters& lent) : lent_(lent) {}
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    const LentParameters& lent_;
  };

  /// Lends the module `tensors`, in the order of `parameters`. Throws unless they have its shapes.
  [[nodiscard]] Guard lend(std::span<const Tensor> tensors) const;

 private:
  struct Lent {
    std::string name;
    Dims shape;
    std::vector<Tensor*> places;  // several where parts of the module share the parameter
  };

  std::string name_;
  std::vector<Lent> parameters_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
