#include "nn/models/sequence_model.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"
#include "core/tape.h"
#include "nn/layer.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The tokens that were fed, a row for each member of the batch.
struct FedTokens : CacheOf<FedTokens> {
  int64_t limit;
  std::vector<std::vector<int32_t>> rows{};

  explicit FedTokens(int64_t limit) : limit(limit) {}
  void forget_newest(int64_t count) override {
    require(count >= 0, "cache: cannot forget ", count, " tokens");
    for (auto& row : rows) row.resize(row.size() - std::min<size_t>(count, row.size()));
  }
  void reorder(const std::vector<int64_t>& members) override {
    std::vector<std::vector<int32_t>> before = std::move(rows);
    rows.clear();
    for (int64_t member : members) {
      require(0 <= member && member < std::ssize(before), "reorder: member ", member,
              ", expected 0 to ", std::ssize(before) - 1);
      rows.push_back(before[member]);
    }
  }

  /// Adds tokens [B, T], and returns all that are kept and these, [B, M + T]. Throws an error that
  /// names the model.
  Tokens with(const Tokens& tokens, const std::string& name) {
    int64_t B = tokens.shape[0], T = tokens.shape[1];
    if (rows.empty()) rows.resize(B);
    require(std::ssize(rows) == B, name, ": a batch of ", B, " for a cache of ", rows.size(),
            " members");
    Tokens all{{B, (rows.empty() ? 0 : std::ssize(rows[0])) + T}, {}};
    for (int64_t b = 0; b < B; ++b) {
      auto& row = rows[b];
      row.insert(row.end(), tokens.values.begin() + b * T, tokens.values.begin() + (b + 1) * T);
      all.values.insert(all.values.end(), row.begin(), row.end());
      row.erase(row.begin(), row.end() - std::min<int64_t>(limit, std::ssize(row)));
    }
    return all;
  }
};

}  // namespace

ModelOutput SequenceModel::operator()(const Tokens& tokens, const Memory& memory,
                                      Context& context) const {
  ModelOutput output = forward(tokens, memory, context);
  ModelTraits own = traits();
  Dims expected{tokens.shape[0], tokens.shape[1], own.vocab_size};
  require(output.logits.defined(), name, ": returned no logits");
  require(output.logits.shape() == expected, name, ": logits ", output.logits.shape(),
          ", expected ", expected);
  require(std::ssize(output.block_inputs) == own.n_layer, name, ": ", output.block_inputs.size(),
          " block inputs, expected n_layer ", own.n_layer);
  return output;
}

Tensor SequenceModel::operator()(const Tokens& tokens, Cache& cache, Context& context) const {
  return advance(cache, {}, [&](Cache& next) { return step(tokens, next, context); });
}

namespace {

/// Returns the name of the first layer that sees ahead, or an empty one.
std::string layer_that_sees_ahead(const SequenceModel& model) {
  for (const auto& [name, layer] : layers(model))
    if (layer.sees_ahead()) return name;
  return "";
}

}  // namespace

bool SequenceModel::sees_ahead() const { return !layer_that_sees_ahead(*this).empty(); }

void require_causal(const char* operation, const SequenceModel& model) {
  if (!model.sees_ahead()) return;
  std::string layer = layer_that_sees_ahead(model);
  fail(operation, ": ", model.name, ": ", layer.empty() ? "the model" : layer,
       " sees later tokens, and so the one to predict; expected causal true");
}

std::unique_ptr<Cache> SequenceModel::make_cache(int64_t limit) const {
  Within{name.c_str()}({0, HUGE_VAL}, "limit", limit);
  return new_cache<FedTokens>(limit);
}

Tensor SequenceModel::step(const Tokens& tokens, Cache& cache, Context& context) const {
  require(tokens.shape.size() == 2, name, ": tokens ", tokens.shape, ", expected [B, T]");
  require_complete(name.c_str(), "tokens", tokens);
  Tokens all = dynamic_cast<FedTokens&>(cache).with(tokens, name);  // [B, M + T]
  Tensor logits = (*this)(all, Memory(), context).logits;           // [B, M + T, V]
  int64_t keys = all.shape[1];
  return slice(logits, 1, keys - tokens.shape[1], keys);  // [B, T, V]
}

Memory remember(const Memory& memory, const std::vector<Tensor>& inputs, int64_t length,
                int64_t fed_again) {
  Within within{"remember"};
  within({0, HUGE_VAL}, "length", length);
  within({0, HUGE_VAL}, "fed_again", fed_again);
  Tape::Pause constant;
  Memory result;
  for (size_t n = 0; n < inputs.size(); ++n) {
    Tensor all = memory.empty() ? inputs[n] : concat({memory[n], inputs[n]}, 1);  // [B, M + T, C]
    int64_t end = all.size(1) - std::min(fed_again, inputs[n].size(1));
    result.push_back(contiguous(slice(all, 1, end - std::min(length, end), end)).detach());
  }
  return result;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
