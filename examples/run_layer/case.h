#pragma once

#include <string>

#include "shiftgrad/core/io/tensor_file.h"
#include "shiftgrad/nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A case file: which layer, its config, and tensors that are taken out one by one, so that what is
/// missing or left over can be named.
class Case {
 public:
  /// Throws when the file is broken or a metadata key is missing.
  explicit Case(const std::string& path);

  std::string layer, config;

  const std::map<std::string, StoredTensor>& tensors() const { return content_.tensors; }
  bool has(const std::string& name) const { return content_.tensors.contains(name); }
  /// The tensor under `name`. Throws when there is none, or of another type.
  Tensor take(const std::string& name);
  Tokens take_tokens(const std::string& name);
  std::shared_ptr<const Mask> take_mask(const std::string& name);
  /// The tensor, or an undefined one.
  Tensor take_if_present(const std::string& name);
  /// Copies `param.NAME` into every parameter. Throws at a missing or misshapen one.
  void take_parameters(const Module& module);
  /// Throws when a tensor has not been taken.
  void expect_empty() const;

 private:
  StoredTensor extract(const std::string& name);

  SafeTensors content_;
};

/// The tensors that a case answers with.
struct Answer {
  SafeTensors content;

  void put(const std::string& name, const Tensor& tensor);
  /// The gradient of `tensor`, zeros where nothing flowed.
  void put_gradient(const std::string& name, const Tensor& tensor);
  void put_parameter_gradients(const Module& module);
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
