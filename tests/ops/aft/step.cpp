// aft_step, for queries that come one after the other, against sums written out.

#include "ops/aft.h"

#include "tests/support/aft_forms.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/refusal.h"

namespace shiftgrad::test::aft_forms {

TEST_CASE("aft_step: the same bits in pieces of any length, on every instruction set") {
  on_every_instruction_set([] {
    for (int64_t M : {0, 40})
      for (const Form& form : every_form(M, 33)) {
        RandomValues random(174);
        check_steps(Inputs(form, 2, M, 33, 72, random), easy);
      }
  });
}

TEST_CASE("aft_step: keys that rise and fall by hundreds, and biases of any size") {
  for (const Form& form : every_form(5, 100)) {
    RandomValues random(175);
    Inputs in(form, 2, 5, 100, 3, random);
    in.move_keys_by_hundreds();
    in.set(0, 50, 1e30f, 2);
    for (int64_t n = 0; n < in.bias.count(); ++n)
      in.bias.mutable_data()[n] += static_cast<Scalar>(n % 3 * 250 - 250);
    check_steps(in, hard);
  }
}

TEST_CASE("aft_step: a key of -inf counts for nothing in later queries") {
  RandomValues random(176);
  Inputs in({"simple", 0, 1, 1, 1, true}, 1, 0, 9, 3, random);
  in.set(0, 0, -1e30f, 2);
  Tensor expected = stepped(in, 1);
  in.set(0, 0, -std::numeric_limits<Scalar>::infinity(), 5);
  CHECK(same_bits(slice(stepped(in, 1), 1, 1, 9), slice(expected, 1, 1, 9)));
}

TEST_CASE("aft_step: what has no weight changes no bit, in its channel or another") {
  on_every_instruction_set([] {
    for (const Form& form : every_form(3, 20)) {
      if (!form.causal) continue;
      CAPTURE(form.name);
      RandomValues random(177);
      Inputs in(form, 2, 3, 20, 18, random);
      in.token(in.key, 1, 5)[4] = -1e30f;
      Scalar& value = in.token(in.value, 1, 5)[4];
      for (int64_t length : {int64_t{1}, in.T}) {
        value = 2;
        Tensor expected = stepped(in, length);
        value = std::numeric_limits<Scalar>::quiet_NaN();
        CHECK(same_bits(stepped(in, length), expected));
      }
    }
  });
}

TEST_CASE("aft_step refuses sums of other sizes") {
  Tensor x = Tensor::full({1, 3, 2}, 1), band = Tensor::full({1, 3, 3}, 0);
  AftSums sums = aft_no_sums(2, 2);
  CHECK(refusal([&] {
          aft_step(x, x, {band, 0, 0}, sums);
        }) == "aft_step: sums [2, 3, 2], expected [1, 3, 2]");
  sums = {{1, 3, 2}, {1}};
  CHECK(refusal([&] {
          aft_step(x, x, {band, 0, 0}, sums);
        }) == "aft_step: sums: 1 values for the shape [1, 3, 2]");
}

}  // namespace shiftgrad::test::aft_forms
