// A checkpoint of the format shiftgrad-1 as it was written when that was new. It stays as it is.

#include <algorithm>

#include "nn/models/checkpoint.h"
#include "optim/evaluate.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

TEST_CASE("old run: its checkpoint predicts what it did when it was written") {
  const std::string folder = TESTS_FOLDER "/support/data/old_run/";
  Checkpoint checkpoint = read_checkpoint(folder + "best.safetensors");
  CHECK(checkpoint.state.step == 40);
  LanguageModel model = make_model(checkpoint, "old run");
  CHECK(parameter_count(model) == 2063);

  std::vector<int32_t> text;
  for (char character : read_text(folder + "sentences.txt"))
    text.push_back(static_cast<int32_t>(std::ranges::find(checkpoint.vocabulary, character) -
                                        checkpoint.vocabulary.begin()));
  Evaluation evaluation =
      evaluate(model, text, {.mode = EvaluationMode::memory, .tgt_len = 8, .mem_len = 8});
  CHECK(evaluation.tokens == 1729);
  CHECK(evaluation.nats == doctest::Approx(2.074192).epsilon(1e-6));
}
