#include "new_rows.h"

#include "examples/apps/runs/kept_rows.h"
#include "nn/state_dict.h"

namespace seq2seq {

SavedRun with_symbols(const SavedRun& run, const Symbols& source, const Symbols& target,
                      uint64_t seed) {
  SavedRun result = run;
  result.source_symbols = source;
  result.target_symbols = target;
  result.model.source_vocab_size = source.tokens();
  result.model.target_vocab_size = target.tokens();
  result.state.trainer.clear();
  make_model(run);  // or throws when the weights do not fit
  shiftgrad::Random random{.seed = seed};
  result.weights = state_dict(shiftgrad::EncoderDecoder(result.model, random));
  apps::keep_rows(
      run.weights, [](size_t row) { return row; }, result.weights);
  return result;
}

}  // namespace seq2seq
