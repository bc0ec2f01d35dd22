#pragma once

// A module lists its members once, in `visit`; counting, saving, loading, the optimizer's groups
// and printing all read that list.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

class Tape;

/// Whether weight decay acts on a parameter. It acts on the weights of linear layers and
/// embeddings, never on norms, biases or position tables.
enum class Decay { no, yes };

/// A handle on one parameter, under its full name: "blocks.0.mixer.qkv.weight".
struct Parameter {
  /// The name, from the module down.
  std::string name{};
  /// The parameter itself.
  Tensor value{};
  /// Whether weight decay acts on it.
  Decay decay = Decay::no;
};

struct Module;

/// Another name of a shared parameter: the output weight of a tied model is listed as the
/// embedding.
struct TiedName {
  /// The name under which it would be listed if it were not shared.
  std::string name{};
  /// The name of the first owner, under which it is listed.
  std::string listed_as{};
};

/// Visits a module's members, in the order in which they are listed.
class Visitor {
 public:
  Visitor() = default;
  /// Visits all members of a module.
  explicit Visitor(const Module& module);

  /// Visits a parameter. An undefined tensor, such as an absent bias, is skipped. So is a tensor
  /// visited before, the same layout of the same storage: a shared parameter is listed once, under
  /// the name of its first owner, and the others are in `tied`. Two parts of one storage are two
  /// parameters. Throws, and names both, when two parameters have some elements in common, or one
  /// name.
  void operator()(const std::string& name, const Tensor& parameter, Decay decay = Decay::no);
  /// Visits a module below this one.
  void operator()(const std::string& name, const Module& module);
  /// Visits a list of modules, numbered from 0: "blocks.0", "blocks.1".
  template <class M>
  void operator()(const std::string& name, const std::vector<std::unique_ptr<M>>& list) {
    for (size_t n = 0; n < list.size(); ++n) (*this)(name + "." + std::to_string(n), *list[n]);
  }

  /// The parameters visited, each once.
  std::vector<Parameter> parameters;
  /// The other names of those that are shared.
  std::vector<TiedName> tied;
  /// Where each of them stands in its module.
  std::vector<const Tensor*> places;
  /// The modules visited, at any depth, by name.
  std::vector<std::pair<std::string, const Module*>> modules;

 private:
  std::string prefix_;
};

/// Anything with parameters. A copy shares them.
struct Module {
  virtual ~Module() = default;
  /// Hands each parameter and module below, with its name, to the visitor.
  virtual void visit(Visitor& visitor) const = 0;
};

/// All parameters of a module, each once. PyTorch: module.named_parameters().
std::vector<Parameter> parameters(const Module& module);

/// Throws, and gives its shape, when the tape has read a tensor that requires a gradient and is no
/// view of a parameter listed: nothing would train or save it. Call it after a forward pass.
void require_listed(const Tape& tape, const std::vector<Parameter>& listed);

/// The members themselves that `parameters` lists, in its order. Assigning a tensor of the same
/// shape to a member replaces that parameter.
std::vector<Tensor*> parameter_places(Module& module);

/// Throws an error that names `operation` and both parameters when two have an element in common.
/// A list that was joined from those of several modules may have one parameter twice.
void require_distinct(const char* operation, const std::vector<Parameter>& parameters);

/// The number of scalars in all parameters.
int64_t parameter_count(const Module& module);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
