#include "optim/peers/gradient_reducer.h"

#include <doctest/doctest.h>

#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/threads_as_peers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// More scalars than half a bucket: no two fit into one.
constexpr int64_t many = 150'000;

Parameter parameter(const char* name, int64_t count, Scalar value) {
  return {name, Tensor::full({count}, value).require_gradient(), Decay::no};
}

/// One of two peers, who notes which parameters were still in use when each sum was begun.
class Noting : public ProcessGroup {
 public:
  explicit Noting(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}
  int64_t size() const override { return 2; }
  void start_sum(std::vector<Scalar> values) override {
    std::string in_use;
    for (const Parameter& parameter : parameters_)
      if (parameter.value.recorded()) in_use += parameter.name;
    notes.push_back(in_use);
    counts.push_back(std::ssize(values));
    ProcessGroup::start_sum(std::move(values));
  }

  std::vector<std::string> notes;
  std::vector<int64_t> counts;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace

TEST_CASE("gradient sums: a bucket leaves as soon as its gradients are final, and not before") {
  // a is used first, but c last of all too; d never.
  std::vector<Parameter> all{parameter("a", many, 1), parameter("b", many, 2),
                             parameter("c", many, 3), parameter("d", many, 4)};
  const Tensor &a = all[0].value, &b = all[1].value, &c = all[2].value;
  Noting peers(all);
  GradientReducer sums(peers, all);
  Tape tape;
  Tensor loss = sum(exp(a) * c * b * c);
  tape.backward(loss, Tensor::full({}, 1), [&] { sums.start(); });
  sums.finish();
  // d at once, c when its first use is done, with a's exp left; b was final before, but has to
  // wait.
  CHECK(peers.notes == std::vector<std::string>{"abc", "a", "a", ""});
  CHECK(peers.counts == std::vector<int64_t>{0, many, many, many});
}

TEST_CASE("gradient sums: they are the sums, bucket for bucket") {
  std::vector<int64_t> counts{3, many, 5, 2 * many, many, 7, 1, 3};
  auto parameters = [&](int64_t rank) {
    std::vector<Parameter> all;
    for (size_t n = 0; n < counts.size(); ++n)
      all.push_back(parameter("p", counts[n], static_cast<Scalar>(n + 10 * rank)));
    return all;
  };
  for (int64_t size : {1, 2, 4})
    ThreadsAsPeers::run(size, [&](ProcessGroup& peers) {
      std::vector<Parameter> all = parameters(peers.rank());
      GradientReducer sums(peers, all);
      for (int step = 0; step < 2; ++step) {
        for (const Parameter& one : all) one.value.zero_gradient();
        // The gradients of Σ p² are 2 p; the last parameter is not used.
        for (size_t n = 0; n + 1 < all.size(); ++n) {
          Tape tape;
          Tensor loss = sum(all[n].value * all[n].value);
          tape.backward(loss);
        }
        sums.finish();
        for (size_t n = 0; n + 1 < all.size(); ++n) {
          Scalar expected = 0;
          for (int64_t rank = 0; rank < size; ++rank)
            expected += static_cast<Scalar>(2 * (static_cast<int64_t>(n) + 10 * rank));
          std::vector<Scalar> values = all[n].value.gradient().values();
          CHECK(values == std::vector<Scalar>(values.size(), expected));
        }
        CHECK_FALSE(all.back().value.gradient().defined());
      }
    });
}
