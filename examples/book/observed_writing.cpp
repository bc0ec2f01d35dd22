#include "observed_writing.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "ops/shape.h"

namespace book {

namespace {

/// A model that tells what its last token attends to, and that takes given tokens for certain.
struct Observed : SequenceModel {
  const SequenceModel& model;
  Attended& last;
  const std::vector<int32_t>& given;
  const std::vector<int32_t>& written;

  Observed(const SequenceModel& model, Attended& last, const std::vector<int32_t>& given,
           const std::vector<int32_t>& written)
      : model(model), last(last), given(given), written(written) {
    name = model.name;
  }

  ModelTraits traits() const override { return model.traits(); }
  Limits limits() const override { return model.limits(); }
  void visit(Visitor& visitor) const override { model.visit(visitor); }
  ModelOutput forward(const Tokens& tokens, const Memory& memory, Context& context) const override {
    return model.forward(tokens, memory, context);
  }
  std::unique_ptr<Cache> make_cache(int64_t limit) const override {
    std::unique_ptr<Cache> cache = model.make_cache(limit);
    cache->owner = identity();
    return cache;
  }

  Tensor step(const Tokens& tokens, Cache& cache, Context& context) const override {
    last.clear();
    Context own = context;
    own.recorder = [this](const Tensor& weights) {                    // [1, H, T, K]
      Tensor rows = select(weights, 0, 0);                            // [H, T, K]
      last.push_back(contiguous(select(rows, 1, rows.size(1) - 1)));  // [H, K]
    };
    Tensor logits = model.step(tokens, cache, own);  // [1, T, V]
    return with_given(logits);
  }

 private:
  /// Returns the logits, of which the last row leaves no choice where the next token is given.
  Tensor with_given(const Tensor& logits) const {
    size_t next = written.size();
    if (next >= given.size() || given[next] == free_choice) return logits;
    std::vector<Scalar> values = logits.values();
    auto row = values.end() - logits.size(2);
    Scalar kept = row[given[next]];
    std::fill(row, values.end(), -std::numeric_limits<Scalar>::infinity());
    row[given[next]] = kept;
    return Tensor::from(logits.shape(), std::move(values));
  }
};

}  // namespace

ObservedWriting observed_writing(const SequenceModel& model, const std::vector<int32_t>& prompt,
                                 const std::vector<int32_t>& given,
                                 const GenerateOptions& options) {
  ObservedWriting writing;
  Attended last;
  Observed observed(model, last, given, writing.tokens);
  generate(observed, prompt, options, [&](int32_t token) {
    writing.tokens.push_back(token);
    writing.attended.push_back(last);
  });
  return writing;
}

}  // namespace book
