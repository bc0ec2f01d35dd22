#include "examples/apps/flags/near_name.h"

#include "tests/support/refusal.h"

using namespace apps;

TEST_CASE("near name: the distance is the smallest number of edits") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("lerning_rate", "learning_rate") == 1);
  CHECK(edit_distance("learnnig_rate", "learning_rate") == 1);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("ca", "abc") == 3);  // what was exchanged is not touched again
}

TEST_CASE("near name: only a near name is suggested, and the first of equally near ones") {
  const std::vector<std::string> names = {"labml", "aft", "local_rnn"};
  CHECK(did_you_mean("atf", names) == ", did you mean aft?");
  CHECK(did_you_mean("labm", names) == ", did you mean labml?");
  CHECK(did_you_mean("localrnn", names) == ", did you mean local_rnn?");
  CHECK(did_you_mean("lstm", names).empty());
  CHECK(did_you_mean("", names).empty());
  CHECK(did_you_mean("x", {}).empty());
  CHECK(did_you_mean("ab", {"aa", "bb"}) == ", did you mean aa?");
}

TEST_CASE("near name: a name of another program leads to the one that means it here") {
  const std::vector<std::string> flags = {"--learning_rate", "--n_embd", "--threads", "--min_lr"};
  CHECK(did_you_mean("--lr", flags) == ", did you mean --learning_rate?");
  CHECK(did_you_mean("lr", {"learning_rate"}) == ", did you mean learning_rate?");
  CHECK(did_you_mean("--d_model", flags) == ", did you mean --n_embd?");
  CHECK(did_you_mean("--device", flags) ==
        "; it computes on the CPU, and --threads says on how many of its cores");
  CHECK(did_you_mean("rope", {"transformer", "labml"}) ==
        ", did you mean --model transformer --position rope?");
  CHECK(did_you_mean("--lr_min", flags) == ", did you mean --min_lr?");
  CHECK(did_you_mean("--not_tied", {"--tie_embedding"}) == ", did you mean --tie_embedding false?");
  CHECK(did_you_mean("--same_length", {"--window"}) == "; --window gives every token as many keys");
  CHECK(did_you_mean("n_heads", {"n_head", "n_embd"}) == ", did you mean n_head?");
  CHECK(did_you_mean("attention", {"aft", "multi_head_attention"}) ==
        ", did you mean multi_head_attention?");
  // Only where that name is.
  CHECK(did_you_mean("--device", {"--out"}).empty());
  CHECK(did_you_mean("--sample", {"generate"}).empty());
}

TEST_CASE("near name: an unknown choice is refused with a list of the choices") {
  check_choice("--cell", "gru", "rnn|gru|lstm");
  auto refused = [](const std::string& value, const std::string& choices) {
    return refusal([&] { check_choice("--flag", value, choices); });
  };
  CHECK(refused("gur", "rnn|gru|lstm") ==
        "--flag gur, expected rnn, gru or lstm, did you mean gru?");
  CHECK(refused("middle", "best|last") == "--flag middle, expected best or last");
  CHECK(refused("", "only") == "--flag , expected only");
}
