#include "core/tensor.h"

#include <limits>
#include <numeric>

#include "core/accumulate.h"
#include "core/machine/allocator.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/counting.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Scalars = std::vector<Scalar>;

}  // namespace

TEST_CASE("tensors start from values, a constant or nothing") {
  CHECK(Tensor::from({2, 2}, Scalars{1, 2, 3, 4}).values() == Scalars{1, 2, 3, 4});
  CHECK(Tensor::from({2, 2}, {1, 2, 3, 4}).values() == Scalars{1, 2, 3, 4});
  CHECK(Tensor::from({}, {5}).item() == 5);
  CHECK(Tensor::from({2, 0}, {}).shape() == Dims{2, 0});
  CHECK(refusal([] { Tensor::from({2}, {1, 2, 3}); }) == "tensor: 3 values for the shape [2]");
  CHECK(Tensor::full({3}, 7).values() == Scalars{7, 7, 7});
  CHECK(Tensor::zeros({2}).values() == Scalars{0, 0});
  CHECK(Tensor::empty({2, 0}).values().empty());
  CHECK(Tensor::full({}, 4).item() == 4);
  CHECK_FALSE(Tensor().defined());
  CHECK_FALSE(Tensor().requires_gradient());
  CHECK_FALSE(Tensor().gradient().defined());
  CHECK_FALSE(Tensor().detach().defined());
  CHECK(refusal([] {
          Tensor::from({2, 2}, Scalars{1, 2, 3});
        }) == "tensor: 3 values for the shape [2, 2]");
  CHECK(refusal([] { Tensor::empty({2, -1}); }) == "shape: [2, -1] has a negative size");
}

TEST_CASE("values and item read through the layout") {
  Tensor x = counting({3, 4});
  CHECK(transpose(x).values() == Scalars{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(slice(x, 1, 1, 4, 2).values() == Scalars{1, 3, 5, 7, 9, 11});
  CHECK(select(select(x, 0, 2), 0, 1).item() == 9);
  CHECK(expand(select(x, 1, 2), {2, 3}).values() == Scalars{2, 6, 10, 2, 6, 10});
  CHECK(*slice(x, 0, 1, 2).data() == 4);
  CHECK(x[1].values() == Scalars{4, 5, 6, 7});
  CHECK(x[-1][0].item() == 8);
  CHECK(transpose(x)[2].values() == Scalars{2, 6, 10});
  CHECK(refusal([&] { x.item(); }) == "item: [3, 4], expected one element");
}

TEST_CASE("an undefined tensor is refused by name, whatever is asked of it") {
  Tensor none;
  auto said = [](const char* operation) {
    return std::string(operation) + ": the tensor is undefined";
  };
  CHECK(refusal([&] { none.values(); }) == said("values"));
  CHECK(refusal([&] { none.item(); }) == said("item"));
  CHECK(refusal([&] { none.data(); }) == said("data"));
  CHECK(refusal([&] { none.mutable_data(); }) == said("mutable_data"));
  CHECK(refusal([&] { none.view({}); }) == said("view"));
  CHECK(refusal([&] { none[0]; }) == "select: x is undefined");
  CHECK(refusal([&] { none.require_gradient(); }) == said("require_gradient"));
  CHECK(refusal([&] { none.zero_gradient(); }) == said("zero_gradient"));
  CHECK(refusal([&] { accumulate(1, none, Tensor::full({}, 1)); }) ==
        "accumulate: the target is undefined");
  CHECK(refusal([&] { accumulate(1, Tensor::full({}, 1), none); }) ==
        "accumulate: the source is undefined");
}

TEST_CASE("an axis that is not there has no size") {
  Tensor x = counting({3, 4});
  CHECK(x.size(1) == 4);
  CHECK(x.size(-2) == 3);
  CHECK(refusal([&] { x.size(2); }) == "size: axis 2 of a tensor with 2 axes");
  CHECK(refusal([&] { x.size(-3); }) == "size: axis -3 of a tensor with 2 axes");
  CHECK(refusal([] { Tensor().size(0); }) == "size: axis 0 of a tensor with 0 axes");
}

TEST_CASE("a shape of more elements than can be counted or held is refused") {
  constexpr int64_t large = int64_t{1} << 31;
  std::string uncountable = "shape: [2147483648, 2147483648, 2147483648] is too large";
  CHECK(refusal([] { Tensor::empty({large, large, large}); }) == uncountable);
  CHECK(refusal([] { Tensor::full({large, large, large}, 1); }) == uncountable);
  CHECK(refusal([] { Tensor::from({large, large, large}, Scalars{}); }) == uncountable);
  // Their product alone wraps around to 0, and 4 or 8 times it does.
  CHECK(refusal([] {
          Tensor::empty({large, 2 * large, 4});
        }) == "shape: [2147483648, 4294967296, 4] is too large");
  CHECK(refusal([] {
          Tensor::empty({large, large});
        }) ==
        "a tensor of shape [2147483648, 2147483648]: allocate: 4611686018427387904 elements, "
        "expected fewer");
  CHECK(refusal([] {
          Tensor::empty({large, large / 8});
        }).starts_with("a tensor of shape [2147483648, 268435456]: allocate: "));
  CHECK(refusal([] {
          CachedVector<double> numbers(std::numeric_limits<size_t>::max() / 16);
        }).starts_with("allocate: "));
  CHECK(refusal([] {
          expand(Tensor::full({1, 1, 1}, 1), {large, large, large}).count();
        }) == uncountable);
}

TEST_CASE("values are aligned to 64 bytes") {
  for (int64_t count : {0, 1, 3, 1000})
    CHECK(reinterpret_cast<uintptr_t>(Tensor::empty({count}).data()) % 64 == 0);
}

TEST_CASE("views share the storage and allocate nothing") {
  Tensor x = counting({2, 3, 4});
  AllocatorCounters before = allocator_counters();
  Tensor view = transpose(slice(reshape(x, {6, 4}), 0, 1, 5, 2));
  AllocatorCounters after = allocator_counters();
  CHECK(after.calls == before.calls);
  CHECK(after.system_allocations == before.system_allocations);
  CHECK(view.shares_storage(x));
  CHECK_FALSE(view.shares_storage(counting({2, 3, 4})));
  *select(select(view, 0, 0), 0, 1).mutable_data() = 50;
  CHECK(x.values()[12] == 50);
}

TEST_CASE("a view that overlaps itself is refused, one that repeats is not") {
  Tensor x = counting({9});
  CHECK(refusal([&] {
          x.view({{3, 3}, {1, 1}, 0});
        }) == "view: shape [3, 3] with strides [1, 1] overlaps itself");
  CHECK(x.view({{3, 3}, {0, 1}, 2}).values() == Scalars{2, 3, 4, 2, 3, 4, 2, 3, 4});
}

TEST_CASE("a view that reaches beyond the storage is refused") {
  Tensor x = counting({9});
  CHECK(refusal([&] {
          x.view({{3, 3}, {3, 1}, 1});
        }) ==
        "view: shape [3, 3] with strides [3, 1] from 1 reaches beyond the 9 elements of the "
        "storage");
  CHECK_THROWS_AS(x.view({{2}, {-1}, 0}), Error);
  CHECK_THROWS_AS(x.view({{2}, {int64_t{1} << 62}, int64_t{1} << 62}), Error);
  CHECK(x.view({{2}, {-8}, 8}).values() == Scalars{8, 0});
  CHECK(x.view({{0, 5}, {5, 1}, 100}).values().empty());
}

TEST_CASE("the gradient of a view lies at the view's place in the storage") {
  Tensor x = counting({3, 4}).require_gradient();
  Tensor column = slice(x, 1, 2, 3);
  CHECK(column.requires_gradient());
  CHECK_FALSE(column.gradient().defined());
  accumulate(column.open_gradient(), Tensor::from({3, 1}, Scalars{7, 8, 9}));
  CHECK(x.gradient().values() == Scalars{0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0});
  CHECK(transpose(x).gradient().values() == Scalars{0, 0, 0, 0, 0, 0, 7, 8, 9, 0, 0, 0});
  CHECK(slice(x, 0, 1, 2).gradient().values() == Scalars{0, 0, 8, 0});
  CHECK_FALSE(x.gradient().requires_gradient());
}

TEST_CASE("the first writer overwrites the gradient, later ones add") {
  Tensor x = counting({2, 2}).require_gradient();
  CHECK(x.open_gradient().beta == 0);
  CHECK(x.open_gradient().beta == 1);
  x.zero_gradient();
  CHECK(x.open_gradient().beta == 0);
  CHECK_FALSE(Tensor::zeros({1}).open_gradient());

  // A view of everything in another order may overwrite; a slice has to clear the rest first.
  auto poisoned = [&] {
    Tensor buffer = x.gradient();
    std::fill_n(buffer.mutable_data(), buffer.count(), not_a_number);
    x.zero_gradient();
  };
  poisoned();
  OpenGradient whole = transpose(x).open_gradient();
  CHECK(whole.beta == 0);
  accumulate(whole, Tensor::from({2, 2}, Scalars{1, 2, 3, 4}));
  CHECK(x.gradient().values() == Scalars{1, 3, 2, 4});
  poisoned();
  accumulate(slice(x, 1, 0, 1).open_gradient(), Tensor::from({2, 1}, Scalars{5, 6}));
  CHECK(x.gradient().values() == Scalars{5, 0, 6, 0});
  poisoned();
  Tensor repeated = expand(slice(x, 0, 1, 2), {3, 2});
  accumulate(repeated.open_gradient(), Tensor::from({3, 2}, Scalars{1, 2, 3, 4, 5, 6}));
  CHECK(x.gradient().values() == Scalars{0, 0, 9, 12});
}

TEST_CASE("parts that make up a storage are each the first writer of theirs") {
  Tensor x = counting({2, 6}).require_gradient();
  auto part = [&](int64_t begin, int64_t end) { return slice(x, 1, begin, end); };
  Tensor a = part(0, 2), b = part(2, 4), c = part(4, 6);
  Tensor other = counting({2, 2}).require_gradient();
  auto betas = [&](const std::vector<const Tensor*>& parts) {
    Tensor buffer = x.gradient();
    if (buffer.defined()) std::fill_n(buffer.mutable_data(), buffer.count(), not_a_number);
    x.zero_gradient();
    other.zero_gradient();
    Scalars found;
    for (const OpenGradient& open : Tensor::open_gradients(parts)) {
      found.push_back(open.beta);
      accumulate(open, Tensor::full({2, 2}, 1));
    }
    return found;
  };
  CHECK(betas({&a, &b, &c}) == Scalars{0, 0, 0});
  CHECK(x.gradient().values() == Scalars(12, 1));
  CHECK(betas({&c, &a, &b}) == Scalars{0, 0, 0});
  // Some of it is missing, or meant twice, or of another storage.
  CHECK(betas({&a, &c}) == Scalars{1, 1});
  CHECK(x.gradient().values() == Scalars{1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1});
  CHECK(betas({&a, &b, &b}) == Scalars{1, 1, 1});
  CHECK(x.gradient().values() == Scalars{1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0});
  CHECK(betas({&a, &b, &other}) == Scalars{1, 1, 0});
  CHECK(betas({&other, &other}) == Scalars{0, 1});
  // What is there already is added to.
  betas({&a});
  CHECK(Tensor::open_gradients({&a, &b, &c})[2].beta == 1);
  Tensor constant = Tensor::zeros({1});
  CHECK_FALSE(Tensor::open_gradients({&constant})[0]);
}

TEST_CASE("views of one storage have gradients of their own") {
  Tensor x = counting({2, 2}).require_gradient();
  Tensor a = slice(x, 0, 0, 1), b = slice(x, 0, 1, 2);
  accumulate(a.open_gradient(), Tensor::from({1, 2}, Scalars{5, 6}));
  CHECK(a.gradient().values() == Scalars{5, 6});
  CHECK_FALSE(b.gradient().defined());
  CHECK(x.gradient().values() == Scalars{5, 6, 0, 0});
  accumulate(b.open_gradient(), Tensor::from({1, 2}, Scalars{7, 8}));
  a.zero_gradient();
  CHECK_FALSE(a.gradient().defined());
  CHECK(b.gradient().values() == Scalars{7, 8});
  accumulate(a.open_gradient(), Tensor::from({1, 2}, Scalars{1, 2}));
  CHECK(x.gradient().values() == Scalars{1, 2, 7, 8});
  a.zero_gradient();
  b.zero_gradient();
  CHECK(x.open_gradient().beta == 0);
  x.zero_gradient();
  // A part without elements was written as well, and gives its tensor a gradient of 0.
  accumulate(slice(b, 0, 0, 0).open_gradient(), Tensor::zeros({0, 2}));
  CHECK(b.gradient().values() == Scalars{0, 0});
  CHECK_FALSE(a.gradient().defined());
  b.zero_gradient();
  // One element in the middle of what was written.
  Tensor row = counting({5}).require_gradient();
  accumulate(row.open_gradient(), Tensor::full({5}, 3));
  slice(row, 0, 2, 3).zero_gradient();
  CHECK_FALSE(slice(row, 0, 2, 3).gradient().defined());
  CHECK(row.gradient().values() == Scalars{3, 3, 0, 3, 3});
  CHECK(slice(row, 0, 0, 2).gradient().defined());
  // Columns lie between those of others, and are 0 from then on.
  accumulate(x.open_gradient(), Tensor::full({2, 2}, 4));
  slice(x, 1, 1, 2).zero_gradient();
  CHECK(x.gradient().values() == Scalars{4, 0, 4, 0});
  CHECK(a.gradient().values() == Scalars{4, 0});
  CHECK(x.open_gradient().beta == 1);
  // An expanded part has one element, however many it seems to have.
  accumulate(row.open_gradient(), Tensor::full({5}, 1));
  expand(slice(row, 0, 1, 2), {5}).zero_gradient();
  CHECK(row.gradient().values() == Scalars{4, 0, 1, 4, 4});
}

TEST_CASE("a tensor over memory that another object owns has sizes of at least 0, and an end") {
  Scalars memory(6);
  auto over = [&](const Layout& layout) {
    return refusal([&] { Tensor::over(memory.data(), layout, nullptr); });
  };
  CHECK(over({{-2, -3}, {3, 1}, 0}) == "shape: [-2, -3] has a negative size");
  constexpr int64_t large = int64_t{1} << 62;
  CHECK(over({{3, 2}, {large, 1}, 0}).find("reaches beyond") != std::string::npos);
  CHECK(refusal([&] {
          counting({6}).view({{-2, -3}, {3, 1}, 0});
        }) == "shape: [-2, -3] has a negative size");
  CHECK(refusal([&] { Tensor::from({-2, -3}, memory); }) == "shape: [-2, -3] has a negative size");
}

TEST_CASE("zero_gradient gives the memory of a gradient back") {
  Tensor x = counting({1000}).require_gradient();
  accumulate(x.open_gradient(), x);
  int64_t before = allocator_counters().bytes_in_use;
  x.zero_gradient();
  CHECK(before - allocator_counters().bytes_in_use >= 1000 * int64_t{sizeof(Scalar)});
  CHECK_FALSE(x.gradient().defined());
  accumulate(x.open_gradient(), x);
  CHECK(x.gradient().values() == x.values());
  CHECK(allocator_counters().bytes_in_use == before);
}

TEST_CASE("a detached tensor is a constant over the same bytes") {
  Tensor x = counting({2, 3}).require_gradient();
  Tensor constant = transpose(x).detach();
  CHECK_FALSE(constant.requires_gradient());
  CHECK_FALSE(constant.shares_storage(x));
  CHECK(constant.data() == x.data());
  CHECK(constant.values() == transpose(x).values());
  CHECK_FALSE(constant.open_gradient());
  accumulate(x.open_gradient(), x);
  CHECK_FALSE(constant.gradient().defined());
}

TEST_CASE("a detached tensor keeps no gradient buffer alive") {
  Tensor constant;
  int64_t of_value = 0;
  {
    Tensor x = counting({100000}).require_gradient();
    of_value = allocator_counters().bytes_in_use;
    accumulate(x.open_gradient(), x);
    constant = x.detach();
    CHECK(allocator_counters().bytes_in_use > of_value);
  }
  CHECK(allocator_counters().bytes_in_use == of_value);
  CHECK(constant.values()[99999] == 99999);
}

TEST_CASE("recorded values are not written to") {
  Tensor x = counting({3}).require_gradient();
  Tensor constant = counting({3});
  const char* refused = "in-place write: a tensor of shape [3] is recorded on a live tape";
  {
    Tape tape;
    Tensor y = x * constant;
    CHECK(refusal([&] { x.mutable_data(); }) == refused);
    CHECK(refusal([&] { constant.mutable_data(); }) == refused);
    CHECK(refusal([&] { y.mutable_data(); }) == refused);
    // Neither through a view nor through a detached tensor, over the same bytes.
    CHECK(refusal([&] { reshape(x, {3}).mutable_data(); }) == refused);
    CHECK(refusal([&] { x.detach().mutable_data(); }) == refused);
    counting({3}).mutable_data();
    tape.backward(y, constant);
    x.mutable_data();
    constant.mutable_data();
    y.mutable_data();
  }
  {
    Tape tape;
    Tensor y = x * constant.detach();
    CHECK(refusal([&] { constant.mutable_data(); }) == refused);
  }
  x.mutable_data();
  constant.mutable_data();
}

TEST_CASE("a tensor lies over memory that another object owns, which is kept as long as it") {
  auto owner = std::make_shared<Scalars>(Scalars{0, 1, 2, 3, 4, 5});
  std::weak_ptr<Scalars> alive = owner;
  Tensor x = Tensor::over(owner->data(), {{3, 2}, {1, 3}}, owner);
  CHECK(x.data() == owner->data());
  CHECK(x.values() == Scalars{0, 3, 1, 4, 2, 5});
  owner.reset();
  Tensor y;
  {
    Tape tape;
    y = x.require_gradient() * x;
    Tensor seen = reshape(x, {3, 2});
    x = {};
    CHECK_FALSE(alive.expired());
    tape.backward(y, Tensor::full({3, 2}, 1));
    CHECK(seen.gradient().values() == Scalars{0, 6, 2, 8, 4, 10});
    CHECK_FALSE(alive.expired());
  }
  CHECK(alive.expired());
  CHECK(y.values() == Scalars{0, 9, 1, 16, 4, 25});
}

TEST_CASE("memory that another object owns may be empty, and is neither overlapped nor passed") {
  Scalars values(4);
  CHECK(Tensor::over(nullptr, Layout::contiguous({2, 0}), nullptr).values().empty());
  CHECK(Tensor::over(values.data(), {{2, 2}, {0, 1}}, nullptr).count() == 4);
  CHECK(refusal([&] {
          Tensor::over(values.data(), {{2, 2}, {1, 1}}, nullptr);
        }) == "view: shape [2, 2] with strides [1, 1] overlaps itself");
  CHECK(refusal([&] {
          Tensor::over(values.data(), {{2}, {-1}}, nullptr);
        }) ==
        "view: shape [2] with strides [-1] from 0 reaches beyond the 1 elements of the storage");
}

TEST_CASE("a view has a stride for each axis") {
  Tensor x = counting({9});
  CHECK(refusal([&] {
          x.view({{2, 2}, {2}, 0});
        }) == "view: strides [2] for the shape [2, 2], expected one for each axis");
  CHECK(refusal([&] {
          x.view({{2}, {2, 1}, 0});
        }) == "view: strides [2, 1] for the shape [2], expected one for each axis");
  CHECK(refusal([&] {
          x.view({{}, {1}, 0});
        }) == "view: strides [1] for the shape [], expected one for each axis");
  Scalars memory(4);
  CHECK(refusal([&] {
          Tensor::over(memory.data(), {{2, 2}, {2}, 0}, nullptr);
        }) == "over: strides [2] for the shape [2, 2], expected one for each axis");
  CHECK(refusal([&] {
          Tensor::over(nullptr, {{2}, {1}, 0}, nullptr);
        }) == "over: no memory for the shape [2]");
}

TEST_CASE("a frozen tensor requires no gradient until the last of those who froze it ends") {
  Tensor x = counting({4}).require_gradient(), part = x.view({{2}, {1}, 1});
  auto one = std::make_unique<Frozen>(x), other = std::make_unique<Frozen>(part);
  CHECK_FALSE(x.requires_gradient());
  one.reset();
  CHECK_FALSE(part.requires_gradient());
  {
    Tape tape;
    Tensor y = add(x, x);
    CHECK_FALSE(y.requires_gradient());
  }
  other.reset();
  CHECK(x.requires_gradient());
  CHECK(part.requires_gradient());
  Tensor constant = counting({4});
  { Frozen frozen(constant); }
  CHECK_FALSE(constant.requires_gradient());
}
