#pragma once

// A training that goes on from request to request, and what its model can be asked. study.h says
// what each request has and what its answer has.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "examples/apps/char_lm/vocabulary.h"
#include "exhibits.h"
#include "nn/models/language_model.h"
#include "observed_writing.h"
#include "opened_model.h"
#include "optim/trainer.h"
#include "reading.h"
#include "request.h"
#include "score_terms.h"

namespace book {

class Training {
 public:
  /// Makes a new model, and gets ready to train it.
  explicit Training(const Json& request);
  /// Has a model that was trained before. It answers all requests but `train` and those of
  /// exhibits.
  explicit Training(OpenedModel opened);
  /// Says how large the model is.
  Json begun() const;

  Json train(const Json& request);
  Json write(const Json& request);
  Json attended(const Json& request);
  Json score(const Json& request);
  Json score_in_order(const Json& request);
  Json fill_in(const Json& request);
  Json attention(const Json& request);
  Json terms(const Json& request);
  Json distances(const Json& request);
  Json inside(const Json& request);
  Json learn(const Json& request);
  Json losses_by_place(const Json& request);
  Json read(const Json& request);
  Json read_on(const Json& request);

 private:
  std::vector<int32_t> tokens_of(const Json& request, const char* key) const;
  /// The tokens that a model is to write as they are given, where it does not choose.
  std::vector<int32_t> given_tokens(const Json& request) const;
  /// The model, which leaves out the terms that the request names.
  WithoutTerms without_terms(const Json& request) const;
  /// The token of a character that is left blank, if the model fills these in.
  int32_t blank_token() const;

  std::optional<Exhibit> exhibit_;
  char_lm::Vocabulary vocabulary_;
  std::vector<int32_t> text_;
  TrainerConfig config_;
  Random random_;
  LanguageModel model_;
  GenerateOptions writing_;  // how far back it looks while it writes
  // One of these, or none where the model was opened: the training of an exhibit, or that of a
  // model of the library.
  std::optional<wrong_on_purpose::Training> exhibited_;
  std::optional<Trainer> trainer_;
  std::optional<Optimizer> learner_;  // of `learn`
  std::map<EvaluationMode, Reading> readings_;
  ObservedWriting observed_;  // of the last `write` that was observed
};

}  // namespace book
