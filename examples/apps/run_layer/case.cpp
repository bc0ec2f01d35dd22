#include "case.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Case::Case(const std::string& path) : Case(path, read_safetensors(path)) {}

Case::Case(const std::string& source, SafeTensors content) : content_(std::move(content)) {
  for (auto [key, value] : {std::pair{"layer", &layer}, std::pair{"config", &config}}) {
    auto found = content_.metadata.find(key);
    require(found != content_.metadata.end(), source, ": metadata \"", key, "\" is missing");
    *value = found->second;
  }
}

StoredTensor Case::extract(const std::string& name) {
  auto node = content_.tensors.extract(name);
  require(!node.empty(), layer, ": tensor \"", name, "\" is missing");
  return std::move(node.mapped());
}

Tensor Case::take(const std::string& name) { return loaded_tensor(name, extract(name)); }

Tokens Case::take_tokens(const std::string& name) { return loaded_tokens(name, extract(name)); }

std::shared_ptr<const Mask> Case::take_mask(const std::string& name) {
  return has(name) ? std::make_shared<Mask>(loaded_mask(name, extract(name))) : nullptr;
}

Tensor Case::take_if_present(const std::string& name) { return has(name) ? take(name) : Tensor(); }

void Case::take_parameters(const Module& module) {
  for (const auto& [name, parameter, decay] : parameters(module)) {
    Tensor given = take("param." + name);
    require(given.shape() == parameter.shape(), layer, ": tensor \"param.", name, "\" is ",
            given.shape(), ", expected ", parameter.shape());
    std::copy_n(given.data(), given.count(), parameter.mutable_data());
  }
}

void Case::expect_empty() const {
  require(content_.tensors.empty(), layer, ": unexpected tensor \"",
          content_.tensors.empty() ? "" : content_.tensors.begin()->first, "\"");
}

void Answer::put(const std::string& name, const Tensor& tensor) {
  content.tensors[name] = stored(tensor);
}

void Answer::put_gradient(const std::string& name, const Tensor& tensor) {
  Tensor gradient = tensor.gradient();
  put("grad." + name, gradient.defined() ? gradient : Tensor::zeros(tensor.shape()));
}

void Answer::put_parameter_gradients(const Module& module) {
  for (const auto& [name, parameter, decay] : parameters(module))
    put_gradient("param." + name, parameter);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
