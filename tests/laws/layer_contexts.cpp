// What each layer makes of the masks and of the recorder, behind a memory and through a cache. It
// obeys all of them, unless the table below says otherwise, which is checked cell by cell.

#include <doctest/doctest.h>

#include "nn/models/encoder_decoder_block.h"
#include "tests/support/layer_pieces.h"
#include "tests/support/masks.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/blocks.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// `nothing` is for a recorder of a layer that has no weights to tell.
enum class Answer { obeys, refuses, nothing };
constexpr Answer obeys = Answer::obeys, refuses = Answer::refuses, nothing = Answer::nothing;

struct Answers {
  Answer padding, mask, recorder;
};
constexpr Answers all_obeyed{obeys, obeys, obeys}, all_refused{refuses, refuses, refuses};
/// No keys to hide: masks are refused, in or below attention.
constexpr Answers no_keys{refuses, refuses, nothing}, no_masks{refuses, refuses, obeys};

struct TableRow {
  std::string rows;  // the layer rows whose names begin so
  std::string type;  // what refusals name
  Answers memory, cache, limited_cache;
};

const std::vector<TableRow> table = {
    // rows                type                             memory       cache        with a limit
    {"aft local", "aft", all_obeyed, all_refused, all_obeyed},
    {"aft simple", "aft", all_obeyed, all_refused, all_obeyed},
    {"aft conv", "aft", all_obeyed, all_refused, all_obeyed},
    {"local_rnn", "local_rnn", no_keys, no_keys, no_keys},
    {"block aft", "aft", all_obeyed, all_refused, all_obeyed},
    {"convolution", "convolution", no_keys, no_keys, no_keys},
    {"gated_linear", "gated_linear", no_keys, no_keys, no_keys},
    {"retention", "retention", no_keys, no_keys, no_keys},
    {"block local_rnn", "local_rnn", no_keys, no_keys, no_keys},
    {"r_transformer_block", "r_transformer_block", no_masks, no_masks, no_masks},
    {"decoder's aft simple", "aft", all_obeyed, all_refused, all_obeyed},
    {"decoder's local_rnn", "local_rnn", no_keys, no_keys, no_keys},
};

/// An encoder_decoder_block that attends to one source.
struct DecoderLayer : Layer {
  EncoderDecoderBlock block;
  Tensor source;  // [B, S, C]

  DecoderLayer(const Sized<EncoderDecoderBlockConfig>& config, const Tensor& source,
               Random& random)
      : block(config, config, random), source(source) {}
  Tensor forward(const Tensor& x, const Past& past, Context& context) const override {
    Source given{source};
    context.source = &given;
    return block.forward(x, past, context);
  }
  std::unique_ptr<Cache> make_cache(int64_t limit) const override {
    std::unique_ptr<Cache> cache = block.make_cache(limit);
    cache->owner = identity();
    return cache;
  }
  void visit(Visitor& visitor) const override { block.visit(visitor); }
};

constexpr int64_t B = 2, T = 3, fed = 4, limit = 2;

LayerRow decoder_row(const std::string& name, const MixerConfig& mixer, Width width) {
  Sized config{EncoderDecoderBlockConfig{{.mixer = mixer, .d_inner = 5}, 2}, width};
  RandomValues random(31);
  Tensor source = random.tensor({B, 3, 4});
  LayerRow row;
  row.name = "decoder's " + name;
  row.d_model = 4;
  row.make = [=]() -> std::unique_ptr<Layer> {
    Random start;
    return std::make_unique<DecoderLayer>(config, source, start);
  };
  row.oracle = [=](const Weights& weights, Input input) {
    input.context = Values(source);
    return oracle(config, 2, weights, input, {});
  };
  return row;
}

std::vector<LayerRow> all_rows() {
  std::vector<LayerRow> rows = layer_rows();
  rows.push_back(decoder_row("xl", TransformerXLAttentionConfig{}, {4, 2}));
  rows.push_back(
      decoder_row("aft full", AftConfig{.form = AftForm::full, .max_len = 16}, {4}));
  rows.push_back(decoder_row("aft simple", AftConfig{.form = AftForm::simple}, {4}));
  rows.push_back(decoder_row("local_rnn", LocalRnnConfig{.window = 3}, {4}));
  return rows;
}

/// A layer with `kept` earlier tokens behind it, and new ones.
struct Call {
  const LayerRow& row;
  const Layer& layer;
  Input input;   // x, and as memory the kept tokens
  Cache* cache;  // null: the memory itself

  Tensor operator()(Context& context) const {
    return cache ? layer(input.x.tensor(), *cache->clone(), context)
                 : layer(input.x.tensor(), memory_of(input), context);
  }
};

/// The layer refuses in its own name, and the cache is as it was.
void check_refusal(const Call& call, const std::string& type, Context context) {
  Context nothing_asked;
  Tensor before = call(nothing_asked);
  std::unique_ptr<Cache> cache = call.cache ? call.cache->clone() : nullptr;
  Call again{call.row, call.layer, call.input, cache.get()};
  CHECK(refusal([&] {
          if (cache)
            call.layer(call.input.x.tensor(), *cache, context);
          else
            again(context);
        }).starts_with(type + ": takes no "));
  CHECK(same_bits(again(nothing_asked), before));
}

void check_mask(Call call, const std::string& type, Answer answer, bool by_padding) {
  int64_t K = call.input.K();
  std::vector<Dims> shapes{{T, K}, {B, T, K}, {1, 1, K}};
  if (by_padding) shapes = {{B, K}};
  for (const Dims& shape : shapes) {
    CAPTURE(shape);
    (by_padding ? call.input.padding : call.input.hidden) = some(shape);
    Context context = masks_of(call.input);
    if (answer == refuses) {
      check_refusal(call, type, context);
      continue;
    }
    Tensor y = call(context);
    CHECK(relative_error(y, call.row.oracle(Weights(call.layer), call.input)) <= exactness);
  }
  // One that does not fit is refused, and the cache is as it was.
  (by_padding ? call.input.padding : call.input.hidden) = some({T, K + 1});
  Context wrong = masks_of(call.input), plain;
  Tensor before = call(plain);
  std::unique_ptr<Cache> cache = call.cache ? call.cache->clone() : nullptr;
  refusal([&] {
    if (cache)
      call.layer(call.input.x.tensor(), *cache, wrong);
    else
      call(wrong);
  });
  if (cache) CHECK(same_bits(Call{call.row, call.layer, call.input, cache.get()}(plain), before));
}

/// What the recorder is told by `forward`.
template <class Forward>
std::vector<Tensor> told(Forward forward) {
  std::vector<Tensor> weights;
  Context context;
  context.recorder = [&](const Tensor& tensor) { weights.push_back(tensor.detach()); };
  forward(context);
  return weights;
}

/// The last T queries and K keys of the weights of N tokens by all of them.
Tensor last_queries_and_keys(const Tensor& weights, int64_t K) {
  bool by_head = weights.size(3) == weights.size(2);  // [B, H, N, N], else [B, N, N, C]
  int queries = by_head ? 2 : 1;
  int64_t N = weights.size(queries);
  return contiguous(slice(slice(weights, queries, N - T, N), queries + 1, N - K, N));
}

void check_recorder(const Call& call, const std::string& type, Answer answer) {
  if (answer == refuses) {
    Context context, editing;
    context.recorder = [](const Tensor&) {};
    check_refusal(call, type, context);
    editing.term_editor = [](std::vector<ScoreTerm>&) {};
    check_refusal(call, type, editing);
    return;
  }
  std::vector<Tensor> weights = told(call);
  REQUIRE(std::ssize(weights) == (answer == obeys));
  if (answer == nothing) return;
  // What one pass over the kept tokens and the new ones tells.
  std::vector<Tensor> expected =
      told([&](Context& context) { call.layer(call.input.tokens().tensor(), {}, context); });
  REQUIRE(expected.size() == 1);
  CHECK(relative_error(weights[0], last_queries_and_keys(expected[0], call.input.K())) <=
        exactness);
}

void check_answers(const Call& call, const std::string& type, const Answers& answers) {
  check_mask(call, type, answers.padding, true);
  check_mask(call, type, answers.mask, false);
  check_recorder(call, type, answers.recorder);
}

TableRow in_table(const LayerRow& row) {
  const TableRow* found = nullptr;
  for (const TableRow& one : table)
    if (row.name.starts_with(one.rows)) {
      CHECK(found == nullptr);
      found = &one;
    }
  return found ? *found : TableRow{row.name, row.type, all_obeyed, all_obeyed, all_obeyed};
}

}  // namespace

TEST_CASE("every layer obeys masks and the recorder, or refuses them, as the table says") {
  for (const LayerRow& row : all_rows()) {
    CAPTURE(row.name);
    const auto [rows, type, memory, cache, limited_cache] = in_table(row);
    RandomValues random(32);
    std::unique_ptr<Layer> layer = random_layer(row, random);
    Tensor earlier = random.tensor({B, fed, row.d_model});
    Input input;
    input.x = Values(random.tensor({B, T, row.d_model}));
    auto remember = [&](int64_t kept) { input.memory = Values(tokens(earlier, fed - kept, fed)); };
    if (row.takes_memory) remember(fed);
    check_answers({row, *layer, input, nullptr}, type, memory);
    if (!row.causal) continue;
    // A layer that takes no memory has nothing to be compared with where tokens are cut off.
    for (int64_t most : {unlimited, row.takes_memory && row.chunk == 1 ? limit : fed}) {
      CAPTURE(most);
      std::unique_ptr<Cache> fed_cache = layer->make_cache(most);
      for (int64_t t = 0; t < fed; ++t) feed(*layer, *fed_cache, tokens(earlier, t, t + 1), {1});
      // What AFT keeps beside its sums is not what masks are for.
      remember(std::min({fed, most, row.forgets ? row.held : fed}));
      check_answers({row, *layer, input, fed_cache.get()}, type,
                    most == unlimited ? cache : limited_cache);
    }
  }
}
