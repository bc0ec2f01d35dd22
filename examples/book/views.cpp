#include "views.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/tape.h"
#include "ops/shape.h"
#include "ops/shift.h"
#include "request.h"

namespace book {

using namespace shiftgrad;

namespace {

/// An operation as a request writes it: [NAME, ARGUMENT, …].
class Step {
 public:
  explicit Step(const Json& written) : written_(written) {
    require(written.is_array() && !written.empty() && written[0].is_string(), "a step is ",
            shown(written), ", expected [NAME, ARGUMENT, …]");
    name = written[0].get<std::string>();
  }

  std::string name;

  template <class Value>
  Value argument(size_t n) const {
    require(n < written_.size(), name, ": argument ", n, " is missing");
    try {
      return written_[n].get<Value>();
    } catch (const Json::exception&) {
      fail(name, ": argument ", n, " is ", shown(written_[n]), ", expected another type");
    }
  }
  int64_t number(size_t n) const { return argument<int64_t>(n); }
  int axis(size_t n) const { return argument<int>(n); }
  Dims sizes(size_t n) const {
    auto values = argument<std::vector<int64_t>>(n);
    return Dims(std::span<const int64_t>(values));
  }

 private:
  const Json& written_;
};

struct Operation {
  std::string_view name;
  Tensor (*apply)(const Tensor& x, const Step& step);
};

constexpr Operation operations[] = {
    {"reshape", [](const Tensor& x, const Step& step) { return reshape(x, step.sizes(1)); }},
    {"permute", [](const Tensor& x, const Step& step) { return permute(x, step.sizes(1)); }},
    {"slice",
     [](const Tensor& x, const Step& step) {
       return slice(x, step.axis(1), step.number(2), step.number(3));
     }},
    {"reverse", [](const Tensor& x, const Step& step) { return flip(x, step.axis(1)); }},
    {"expand", [](const Tensor& x, const Step& step) { return expand(x, step.sizes(1)); }},
    {"contiguous", [](const Tensor& x, const Step&) { return contiguous(x); }},
    {"pad_left", [](const Tensor& x, const Step&) { return pad_left(x); }},
    {"pad_right", [](const Tensor& x, const Step&) { return pad_right(x); }},
    {"rel_shift_view", [](const Tensor& x, const Step&) { return rel_shift_view(x); }},
    {"shift_right_view",
     [](const Tensor& x, const Step&) { return x.view(x.layout().shift_right()); }},
};

Tensor applied(const Tensor& x, const Step& step) {
  constexpr int64_t most = 100000;
  for (const Operation& operation : operations)
    if (step.name == operation.name) {
      Tensor y = operation.apply(x, step);
      require(y.count() <= most, step.name, ": ", y.shape(), " has more than ", most, " elements");
      return y;
    }
  fail("unknown step ", shown(step.name));
}

/// Returns, for each element of the view, its place in a buffer of `size` elements.
std::vector<Scalar> positions(const Tensor& view, int64_t size) {
  std::vector<Scalar> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), Scalar{0});
  return Tensor::from({size}, places).view(view.layout()).values();
}

std::vector<int64_t> list(const Dims& dims) { return {dims.begin(), dims.end()}; }

}  // namespace

Json views_of(const Json& request) {
  Tape tape;
  std::vector<Tensor> views{
      loaded_tensor("tensor", stored_tensor(value_of<Json>(request, "tensor"))).require_gradient()};
  const auto steps = value_of<std::vector<Json>>(request, "steps");
  std::vector<size_t> recorded{0};
  for (const Json& step : steps) {
    views.push_back(applied(views.back(), Step(step)));
    recorded.push_back(tape.size());
  }
  if (request.contains("grad_output"))
    tape.backward(
        views.back(),
        loaded_tensor("grad_output", stored_tensor(value_of<Json>(request, "grad_output"))));
  std::vector<Tensor> storages;  // the first tensor of each, which covers all of it
  Json answer = Json::array();
  for (size_t n = 0; n < views.size(); ++n) {
    const Tensor& view = views[n];
    auto storage = std::find_if(storages.begin(), storages.end(),
                                [&](const Tensor& first) { return first.shares_storage(view); });
    if (storage == storages.end()) storage = storages.insert(storage, view);
    answer.push_back({{"shape", list(view.shape())},
                      {"strides", list(view.layout().strides)},
                      {"offset", view.layout().offset},
                      {"storage", storage - storages.begin()},
                      {"recorded", recorded[n]},
                      {"positions", positions(view, storage->count())},
                      {"values", view.values()}});
    if (Tensor gradient = view.gradient(); gradient.defined())
      answer.back()["gradient"] = gradient.values();
  }
  return {{"views", answer}};
}

}  // namespace book
