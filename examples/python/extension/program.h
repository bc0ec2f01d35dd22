#pragma once

// What PyTorch calls: a layer or a model by its name and config, or relative_attention, as a
// function of tensors alone. PyTorch has the parameters; a program sees them for the length of a
// call.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/cache.h"
#include "nn/context.h"
#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Generation;

struct Program {
  virtual ~Program() = default;

  /// Returns the output. A layer's tensors are x, memory, context and its parameters, in the order
  /// of `parameters`; a model's are the same with tokens for x and a source for the context; those
  /// of relative_attention are q, k, v and the terms of its equation, in the order of the struct.
  /// What is undefined is absent.
  virtual Tensor run(std::span<const Tensor> tensors, Context& context) = 0;

  const std::string& name() const { return name_; }
  /// Returns the layer's name and that of the n-th of the tensors that `run` takes, for errors.
  std::string tensor_name(size_t n) const;

  /// Names, and the values from which training starts, until the first run or step.
  virtual std::vector<Parameter> initial_parameters() const { return {}; }

  /// Returns the tokens that a model writes, a row for each of its prompts or sources.
  virtual std::vector<std::vector<int32_t>> generate(std::span<const Tensor> tensors,
                                                     Context& context,
                                                     const Generation& generation);

  /// Starts a cache, as Layer::make_cache does. Throws for a program that remembers nothing.
  virtual std::unique_ptr<Cache> make_cache(int64_t limit) const;
  /// Returns the output for x after the tokens in the cache, from the tensors that `run` takes.
  virtual Tensor step(std::span<const Tensor> tensors, Cache& cache, Context& context);

 protected:
  /// `tensors` are the names of those that `run` takes.
  Program(std::string name, std::vector<std::string> tensors)
      : name_(std::move(name)), tensors_(std::move(tensors)) {}

  /// Throws unless there are as many tensors as `run` takes.
  void expect_all(std::span<const Tensor> tensors) const;

  /// Adds the names of parameters to those of the tensors that `run` takes.
  void takes_also(const std::vector<std::string>& names);

  const std::string name_;

 private:
  std::vector<std::string> tensors_;
};

/// Makes a program from a layer's name and its config as JSON, which may have rates of dropout
/// besides. Throws on names and keys that it does not know. `seed` chooses the initial parameters;
/// without one they have no values.
std::unique_ptr<Program> make_program(const std::string& name, const std::string& config,
                                      std::optional<uint64_t> seed = {});

/// A program that is this borrower's alone while it lives. Afterwards others may borrow it, so that
/// a call seldom makes one.
class BorrowedProgram {
 public:
  BorrowedProgram(const std::string& name, const std::string& config);
  ~BorrowedProgram();
  BorrowedProgram(const BorrowedProgram&) = delete;
  BorrowedProgram& operator=(const BorrowedProgram&) = delete;

  Program* operator->() const { return program_.get(); }

 private:
  std::string key_;
  std::unique_ptr<Program> program_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
