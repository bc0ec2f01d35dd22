#pragma once

#include <string>

#include "core/io/tensor_file.h"
#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A case file: a layer's type, its config, and its tensors. Tensors are taken out one by one, so
/// that errors can name those that are missing or left over.
class Case {
 public:
  /// Reads the file. Throws when it is broken or a metadata key is missing.
  explicit Case(const std::string& path);
  /// Takes the content of such a file. Throws an error that names `source` when a key is missing.
  Case(const std::string& source, SafeTensors content);

  std::string layer, config;

  const std::map<std::string, StoredTensor>& tensors() const { return content_.tensors; }
  bool has(const std::string& name) const { return content_.tensors.contains(name); }
  /// Takes out the tensor under `name`. Throws when there is none, or when it has another type.
  Tensor take(const std::string& name);
  Tokens take_tokens(const std::string& name);
  std::shared_ptr<const Mask> take_mask(const std::string& name);
  /// Takes out the tensor under `name`, or returns an undefined one.
  Tensor take_if_present(const std::string& name);
  /// Copies `param.NAME` into every parameter. Throws when one is missing or has the wrong shape.
  void take_parameters(const Module& module);
  /// Throws when a tensor has not been taken.
  void expect_empty() const;

 private:
  StoredTensor extract(const std::string& name);

  SafeTensors content_;
};

/// The tensors that answer a case.
struct Answer {
  SafeTensors content;

  void put(const std::string& name, const Tensor& tensor);
  /// Adds the gradient of `tensor`, which is zeros if no gradient reached it.
  void put_gradient(const std::string& name, const Tensor& tensor);
  void put_parameter_gradients(const Module& module);
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
