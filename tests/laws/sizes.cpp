// Numbers that no size can be. Whatever takes a number from its caller ends in a result or in an
// Error of one line, whose text has no number that a wrap made. Each call is made in a process of
// its own, with little memory and some seconds of CPU time.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/machine/parallel.h"
#include "core/machine/sanitizer.h"
#include "nn/models/beam_search.h"
#include "nn/models/byte_text.h"
#include "nn/models/config.h"
#include "nn/positions.h"
#include "nn/sliding_cache.h"
#include "ops/aft.h"
#include "ops/clipped.h"
#include "ops/concat.h"
#include "ops/creation.h"
#include "ops/embedding.h"
#include "ops/indexing.h"
#include "ops/loss.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/shift.h"
#include "optim/pair_trainer.h"
#include "optim/trainer.h"
#include "tests/support/small_mixers.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;

namespace {

constexpr int64_t numbers[] = {1'000'000,
                               1'000'000'000,
                               1'000'000'000'000,
                               INT64_MIN,
                               -(int64_t{1} << 32),
                               -1,
                               0,
                               1,
                               3,
                               int64_t{1} << 31,
                               int64_t{1} << 32,
                               int64_t{1} << 40,
                               int64_t{1} << 61,
                               int64_t{1} << 62,
                               INT64_MAX - 1,
                               INT64_MAX};

/// A call that takes a number.
struct Call {
  std::string name;
  std::function<void(int64_t)> call;
};

/// Whether a text has a number below -99, or what -1 is without a sign.
bool has_wrap(const std::string& text) {
  auto is_digit = [&](size_t n) { return n < text.size() && '0' <= text[n] && text[n] <= '9'; };
  for (size_t n = 0; n < text.size(); ++n)
    if (text[n] == '-' && is_digit(n + 1) && is_digit(n + 2) && is_digit(n + 3)) return true;
  return text.find("18446744073709551615") != std::string::npos;
}

/// Makes the call, and returns what is wrong with its end: "" for a result or an Error of one line.
std::string wrong_end(const Call& call, int64_t number) {
  try {
    call.call(number);
    return "";
  } catch (const Error& error) {
    std::string text = error.what();
    if (text.empty() || text.find('\n') != std::string::npos) return "not one line: " + text;
    return number >= 0 && has_wrap(text) ? "a wrap: " + text : "";
  } catch (const std::exception& error) {
    return std::string("no Error: ") + error.what();
  }
}

/// Leaves this process 1 GiB of memory and 30 seconds, and lets its faults end it without a word.
void limit_process() {
  for (int fault : {SIGSEGV, SIGFPE, SIGABRT, SIGILL}) std::signal(fault, SIG_DFL);
  rlimit memory{1UL << 30, 1UL << 30}, seconds{30, 30}, core{0, 0};
  if (!address_sanitizer) setrlimit(RLIMIT_AS, &memory);  // that one has a limit of its own
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &core);
}

/// Returns wrong_end of a call in a process of its own, or the signal that ended it.
std::string wrong_end_apart(const Call& call, int64_t number) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    limit_process();
    std::string text = wrong_end(call, number);
    [[maybe_unused]] auto written = write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> part{};
  for (ssize_t count = 0; (count = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "ended by status " + std::to_string(status);
}

void check_ends(const std::vector<Call>& calls) {
  for (const Call& call : calls)
    for (int64_t number : numbers) {
      std::string wrong = wrong_end_apart(call, number);
      CHECK_MESSAGE(wrong.empty(), call.name, " of ", number, ": ", wrong);
    }
}

/// The nearest int.
int as_int(int64_t n) { return static_cast<int>(std::clamp<int64_t>(n, INT_MIN, INT_MAX)); }

const std::vector<int32_t> text_of_200 = random_text(200, 7);

Random random_numbers() { return {.seed = 1}; }

Tensor some(const Dims& shape) {
  Random random{.seed = 2};
  return randn(shape, random);
}

}  // namespace

TEST_CASE("sizes: of tensors and their views") {
  check_ends({
      {"zeros [n]", [](int64_t n) { Tensor::zeros({n}); }},
      {"zeros [n, n]",
       [](int64_t n) {
         Tensor::zeros({n, n});
       }},
      {"zeros [n, 0]",
       [](int64_t n) {
         Tensor::zeros({n, 0});
       }},
      {"zeros [n, n, 0]",
       [](int64_t n) {
         Tensor::zeros({n, n, 0});
       }},
      {"zeros [0, n, n]",
       [](int64_t n) {
         Tensor::zeros({0, n, n});
       }},
      {"full [2, n]",
       [](int64_t n) {
         Tensor::full({2, n}, 1);
       }},
      {"from [n]",
       [](int64_t n) {
         Tensor::from({n}, {1, 2});
       }},
      {"from [n, n]",
       [](int64_t n) {
         Tensor::from({n, n}, {1});
       }},
      {"randn",
       [](int64_t n) {
         Random random;
         randn({n, 2}, random);
       }},
      {"arange", [](int64_t n) { arange(static_cast<double>(n)); }},
      {"arange from", [](int64_t n) { arange(static_cast<double>(n), 3); }},
      {"arange by", [](int64_t n) { arange(0, 1e18, static_cast<double>(n)); }},
      {"size",
       [](int64_t n) {
         some({2, 3}).size(n);
       }},
      {"index",
       [](int64_t n) {
         some({2, 3})[n];
       }},
      {"reshape",
       [](int64_t n) {
         reshape(some({2, 3}), {n, 3});
       }},
      {"reshape of two",
       [](int64_t n) {
         reshape(some({2, 3}), {n, n, -1});
       }},
      {"reshape of nothing",
       [](int64_t n) {
         reshape(some({0, 3}), {0, n, n});
       }},
      {"permute",
       [](int64_t n) {
         permute(some({2, 3}), {n, 0});
       }},
      {"transpose",
       [](int64_t n) {
         transpose(some({2, 3}), n, 0);
       }},
      {"slice axis",
       [](int64_t n) {
         slice(some({2, 3}), n, 0, 1);
       }},
      {"slice begin",
       [](int64_t n) {
         slice(some({2, 3}), 1, n, 3);
       }},
      {"slice end",
       [](int64_t n) {
         slice(some({2, 3}), 1, 1, n);
       }},
      {"slice step",
       [](int64_t n) {
         slice(some({2, 3}), 1, 0, 3, n);
       }},
      {"select",
       [](int64_t n) {
         select(some({2, 3}), 1, n);
       }},
      {"flip",
       [](int64_t n) {
         flip(some({2, 3}), n);
       }},
      {"expand",
       [](int64_t n) {
         expand(some({1, 3}), {n, 3});
       }},
      {"expand values", [](int64_t n) { expand(some({1}), {n}).values(); }},
      {"expand contiguous", [](int64_t n) { contiguous(expand(some({1}), {n})); }},
      {"expand and add",
       [](int64_t n) {
         expand(some({1, 1}), {n, 2}) + some({2});
       }},
      {"unsqueeze",
       [](int64_t n) {
         unsqueeze(some({2, 3}), n);
       }},
      {"squeeze",
       [](int64_t n) {
         squeeze(some({2, 1}), n);
       }},
      {"split_heads",
       [](int64_t n) {
         split_heads(some({1, 2, 6}), n);
       }},
      {"dims insert",
       [](int64_t n) {
         Dims dims{1, 2};
         dims.insert(n, 3);
       }},
      {"dims erase",
       [](int64_t n) {
         Dims dims{1, 2};
         dims.erase(n);
       }},
      {"dims filled", [](int64_t n) { Dims::filled(as_int(n), 3); }},
      {"layout",
       [](int64_t n) {
         some({6}).view({{2, n}, {n, 1}, 0});
       }},
      {"layout strides",
       [](int64_t n) {
         some({6}).view({{2, 2}, {n, n}, 0});
       }},
      {"layout offset",
       [](int64_t n) {
         some({6}).view({{2}, {1}, n});
       }},
      {"rows begin",
       [](int64_t n) {
         rows(Tokens{{2, 2}, {1, 2, 3, 4}}, n, 2);
       }},
      {"rows end",
       [](int64_t n) {
         rows(Tokens{{2, 2}, {1, 2, 3, 4}}, 1, n);
       }},
      {"rows of a wrong shape",
       [](int64_t n) {
         rows(Tokens{{2, n}, {1, 2, 3, 4}}, 0, 1);
       }},
      {"below", [](int64_t n) { random_numbers().below(n); }},
      {"byte_count",
       [](int64_t n) {
         byte_count(DType::f64, Dims{n, n});
       }},
      {"CachedArray", [](int64_t n) { CachedArray<double> array(n); }},
      {"allocate",
       [](int64_t n) {
         auto size = static_cast<size_t>(n);
         release(allocate(size), size);
       }},
      {"divide_up", [](int64_t n) { divide_up(n, 3); }},
      {"ThreadLimit", [](int64_t n) { ThreadLimit limit{as_int(n)}; }},
      {"with_threads", [](int64_t n) { with_threads(as_int(n), [] {}); }},
  });
}

TEST_CASE("sizes: of ops") {
  check_ends({
      {"concat",
       [](int64_t n) {
         concat({some({2, 3}), some({2, 3})}, n);
       }},
      {"concat of long",
       [](int64_t n) {
         Tensor x = expand(some({1}), {n});
         concat({x, x, x}, 0);
       }},
      {"stack",
       [](int64_t n) {
         stack({some({2}), some({2})}, n);
       }},
      {"stack of long",
       [](int64_t n) {
         Tensor x = expand(some({1}), {n});
         stack({x, x}, 0);
       }},
      {"split",
       [](int64_t n) {
         split(some({5, 2}), n);
       }},
      {"split axis",
       [](int64_t n) {
         split(some({5, 2}), 2, n);
       }},
      {"sum",
       [](int64_t n) {
         sum(some({2, 3}), {n});
       }},
      {"mean of none",
       [](int64_t n) {
         mean(Tensor::zeros({n, 0}), {1});
       }},
      {"maximum",
       [](int64_t n) {
         maximum(some({2, 3}), n);
       }},
      {"cumsum",
       [](int64_t n) {
         cumsum(some({2, 3}), n);
       }},
      {"cumsum of long", [](int64_t n) { cumsum(expand(some({1}), {n}), 0); }},
      {"argmax",
       [](int64_t n) {
         argmax(some({2, 3}), n);
       }},
      {"argmax of many",
       [](int64_t n) {
         argmax(expand(some({1, 3}), {n, 3}), 1);
       }},
      {"argmax of long", [](int64_t n) { argmax(expand(some({1}), {n}), 0); }},
      {"topk",
       [](int64_t n) {
         topk(some({2, 3}), n);
       }},
      {"topk of many",
       [](int64_t n) {
         topk(expand(some({1, 3}), {n, 3}), 2);
       }},
      {"topk axis",
       [](int64_t n) {
         topk(some({2, 3}), 1, n);
       }},
      {"gather",
       [](int64_t n) {
         gather(some({2, 3}), n, Tokens{{2, 1}, {0, 1}});
       }},
      {"gather shape",
       [](int64_t n) {
         gather(some({2, 3}), 1, Tokens{{2, n}, {0, 1}});
       }},
      {"gather of many",
       [](int64_t n) {
         gather(expand(some({1, 3}), {n, 3}), 1, Tokens{{n, 1}, {0}});
       }},
      {"where",
       [](int64_t n) {
         where(Mask{{n}, {1}}, some({1}), some({1}));
       }},
      {"embedding",
       [](int64_t n) {
         embedding(some({3, 2}), Tokens{{n}, {1}});
       }},
      {"embedding of wide",
       [](int64_t n) {
         embedding(expand(some({3, 1}), {3, n}), Tokens{{2}, {0, 1}});
       }},
      {"cross_entropy",
       [](int64_t n) {
         cross_entropy(some({2, 3}), Tokens{{n}, {1, 2}});
       }},
      {"cross_entropy of wide",
       [](int64_t n) {
         cross_entropy(expand(some({2, 1}), {2, n}), Tokens{{2}, {0, 0}});
       }},
      {"softmax",
       [](int64_t n) {
         softmax(Tensor::zeros({n, 0}));
       }},
      {"softmax of wide", [](int64_t n) { softmax(expand(some({1}), {n})); }},
      {"log_softmax",
       [](int64_t n) {
         log_softmax(some({2, 3}), n);
       }},
      {"layer_norm",
       [](int64_t n) {
         layer_norm(expand(some({1, 2}), {n, 2}), some({2}), some({2}));
       }},
      {"rms_norm", [](int64_t n) { rms_norm(expand(some({1}), {n})); }},
      {"matmul",
       [](int64_t n) {
         matmul(expand(some({1, 2}), {n, 2}), expand(some({2, 1}), {2, n}));
       }},
      {"matmul of none",
       [](int64_t n) {
         matmul(Tensor::zeros({n, 0}), Tensor::zeros({0, n}));
       }},
      {"linear",
       [](int64_t n) {
         linear(expand(some({1, 2}), {n, 2}), expand(some({1, 2}), {n, 2}));
       }},
      {"gather_by_distance",
       [](int64_t n) {
         gather_by_distance(some({2, 3}), n);
       }},
      {"bucket_by_distance",
       [](int64_t n) {
         bucket_by_distance(some({2, 3}), n);
       }},
      {"pad_left",
       [](int64_t n) {
         pad_left(expand(some({1, 1}), {1, n}));
       }},
      {"pad_right",
       [](int64_t n) {
         pad_right(expand(some({1, 1}), {1, n}));
       }},
      {"rel_shift",
       [](int64_t n) {
         rel_shift(expand(some({1, 1}), {n, 2}), true);
       }},
      {"rel_shift_view",
       [](int64_t n) {
         rel_shift_view(expand(some({1, 1}), {n, 2}));
       }},
      {"relative_product",
       [](int64_t n) {
         relative_product(some({1, 1, 2, 2}), some({3, 1, 2}), n);
       }},
      {"relative_key_product",
       [](int64_t n) {
         relative_key_product(some({1, 1, 2, 2}), some({3, 1, 2}), n);
       }},
      {"relative_bias T",
       [](int64_t n) {
         relative_bias(some({3, 1}), n, 2);
       }},
      {"relative_bias K",
       [](int64_t n) {
         relative_bias(some({3, 1}), 2, n);
       }},
      {"recurrent_windows",
       [](int64_t n) {
         recurrent_windows(RecurrentCell::rnn, some({1, 4, 2}), some({2, 2}), {}, n);
       }},
      {"composed_windows",
       [](int64_t n) {
         composed_windows(RecurrentCell::rnn, some({1, 4, 2}), some({2, 2}), {}, n);
       }},
      {"aft start",
       [](int64_t n) {
         aft_mix(some({1, 3, 2}), some({1, 3, 2}), {some({1, 3, 2}), n, 1}, {.sight = {}});
       }},
      {"aft step",
       [](int64_t n) {
         aft_mix(some({1, 3, 2}), some({1, 3, 2}), {some({1, 3, 2}), 0, n}, {.sight = {}});
       }},
      {"composed_aft start",
       [](int64_t n) {
         composed_aft(some({1, 3, 2}), some({1, 3, 2}), {some({1, 3, 2}), n, 1}, {.sight = {}});
       }},
      {"aft_no_sums", [](int64_t n) { aft_no_sums(n, 2); }},
      {"aft_no_sums n", [](int64_t n) { aft_no_sums(n, n); }},
      {"shifted_rows width",
       [](int64_t n) {
         shifted_rows(some({1, 2, 3}), n, 0, 0);
       }},
      {"shifted_rows start",
       [](int64_t n) {
         shifted_rows(some({1, 2, 3}), 3, n, 1);
       }},
      {"shifted_rows step",
       [](int64_t n) {
         shifted_rows(some({1, 2, 3}), 3, 0, n);
       }},
      {"widened",
       [](int64_t n) {
         widened({some({1, 2, 3}), n, n}, 3);
       }},
      {"widened to",
       [](int64_t n) {
         widened({some({1, 2, 3}), 0, 0}, n);
       }},
      {"dropout first_row",
       [](int64_t n) {
         dropout(some({2, 3}), {1, 2, 0.5, n});
       }},
      {"sinusoids first", [](int64_t n) { sinusoids("op", n, 2, 4); }},
      {"sinusoids count", [](int64_t n) { sinusoids("op", 0, n, 4); }},
      {"sinusoids width", [](int64_t n) { sinusoids("op", 0, 2, n); }},
      {"sinusoids width of none", [](int64_t n) { sinusoids("op", {}, n); }},
      {"rotate",
       [](int64_t n) {
         rotate(some({1, 1, 2, 4}), n);
       }},
      {"last_rows",
       [](int64_t n) {
         last_rows(some({2, 2}), n);
       }},
      {"alibi_slopes", [](int64_t n) { alibi_slopes(n); }},
      {"members_of",
       [](int64_t n) {
         members_of(some({2, 2}), {n});
       }},
      {"members_of tokens",
       [](int64_t n) {
         members_of(Tokens{{2}, {1, 2}}, {n});
       }},
  });
}

TEST_CASE("sizes: of what a query sees") {
  auto attention = [](const Visibility& visibility, DropoutPattern dropout = {}) {
    RelativeAttention terms{
        .query = some({1, 1, 3, 2}), .key = some({1, 1, 3, 2}), .value = some({1, 1, 3, 2})};
    terms.visibility = visibility;
    terms.dropout = dropout;
    relative_attention(terms);
  };
  auto all = [](const Sight& sight) {
    sight.farthest(unlimited);
    sight.farthest(3);
    sight.sees_ahead();
    sight.piece();
    MultiHeadAttentionConfig config;
    config.sight = sight;
    Random random;
    MultiHeadAttention layer(config, {4, 2}, random);
    auto cache = layer.make_cache();
    Context context;
    layer(some({1, 2, 4}), *cache, context);
    layer(some({1, 2, 4}), *cache, context);
  };
  std::vector<Call> calls = {
      {"window", [&](int64_t n) { attention({.sight = {.window = Window(n)}}); }},
      {"window left", [&](int64_t n) { attention({.sight = {.window = Window(n, 1)}}); }},
      {"window right",
       [&](int64_t n) { attention({.sight = {.causal = false, .window = Window(1, n)}}); }},
      {"window both",
       [&](int64_t n) { attention({.sight = {.causal = false, .window = Window(n, n)}}); }},
      {"chunk size",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{n, 1}}});
       }},
      {"chunk left",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{1, n}}});
       }},
      {"chunk both",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{n, n}}});
       }},
      {"chunk at",
       [&](int64_t n) {
         attention({.sight = {.chunk = Chunk{n, n}}, .first_position = int64_t{1} << 39});
       }},
      {"first_position",
       [&](int64_t n) {
         attention({.sight = {.window = Window(2), .chunk = Chunk{2, 1}}, .first_position = n});
       }},
      {"dropout first_row",
       [&](int64_t n) {
         attention({}, {1, 2, 0.5, n});
       }},
      {"layer window", [&](int64_t n) { all({.window = Window(n)}); }},
      {"layer window left", [&](int64_t n) { all({.window = Window(n, 0)}); }},
      {"layer window right", [&](int64_t n) { all({.window = Window(2, n)}); }},
      {"layer chunk size",
       [&](int64_t n) {
         all({.chunk = Chunk{n, 1}});
       }},
      {"layer chunk left",
       [&](int64_t n) {
         all({.chunk = Chunk{1, n}});
       }},
      {"layer chunk two-way",
       [&](int64_t n) {
         all({.causal = false, .chunk = Chunk{n, n}});
       }},
  };
  check_ends(calls);
}

namespace {

/// Calls `use` with every mixer's config, of which the fields of this name are n.
void with_field(const std::string& name, int64_t n, auto use) {
  for (MixerConfig config : small_mixers(12)) {
    bool has = false;
    fields_of(config, [&]<class Value>(Value& value, const Field& field, const auto&...) {
      if (name != field.name) return;
      if constexpr (std::is_same_v<Value, int64_t> ||
                    std::is_same_v<Value, std::optional<int64_t>>) {
        value = n;
        has = true;
      }
    });
    if (has) use(config);
  }
}

void use_mixer(const MixerConfig& config, Width width) {
  Random random;
  if (!std::visit([](const auto& each) { return has_heads(each); }, config)) width.n_head.reset();
  auto layer = make_mixer(config, width, random);
  (*layer)(some({1, 4, 4}));
}

}  // namespace

TEST_CASE("sizes: of layers") {
  std::vector<Call> calls;
  for (std::string field : {"max_len", "window", "factor_rank", "max_positions", "max_seq",
                            "max_distance", "clamp_len", "d_head"})
    calls.push_back({"mixer " + field, [=](int64_t n) {
                       std::string last;
                       with_field(field, n, [&](const MixerConfig& config) {
                         try {
                           use_mixer(config, {4, 2});
                         } catch (const Error& error) {
                           last = error.what();
                         }
                       });
                       if (!last.empty()) throw Error(last);
                     }});
  for (const MixerConfig& config : small_mixers(12)) {
    calls.push_back({text("d_model of ", type_of(config)), [=](int64_t n) {
                       use_mixer(config, {n, 2});
                     }});
    calls.push_back({text("n_head of ", type_of(config)), [=](int64_t n) {
                       use_mixer(config, {4, n});
                     }});
    calls.push_back({text("limit of ", type_of(config)), [=](int64_t n) {
                       Random random;
                       Width width{4, 2};
                       if (!std::visit([](const auto& each) { return has_heads(each); }, config))
                         width.n_head.reset();
                       auto layer = make_mixer(config, width, random);
                       auto cache = layer->make_cache(n);
                       Context context;
                       (*layer)(some({1, 2, 4}), *cache, context);
                       (*layer)(some({1, 2, 4}), *cache, context);
                       cache->forget_newest(n);
                     }});
    calls.push_back({text("forget of ", type_of(config)), [=](int64_t n) {
                       Random random;
                       Width width{4, 2};
                       if (!std::visit([](const auto& each) { return has_heads(each); }, config))
                         width.n_head.reset();
                       auto layer = make_mixer(config, width, random);
                       auto cache = layer->make_cache();
                       Context context;
                       (*layer)(some({2, 2, 4}), *cache, context);
                       try {
                         cache->forget_newest(n);
                       } catch (const Error&) {
                       }
                       cache->reorder({n, n});
                     }});
  }
  auto random = [] {
    static Random random;
    return &random;
  };
  std::vector<Call> more = {
      {"Linear", [=](int64_t n) { Linear(n, n, true, *random()); }},
      {"LayerNorm", [](int64_t n) { LayerNorm norm(n); }},
      {"FeedForward", [=](int64_t n) { FeedForward(4, n, Activation::relu, 0, *random()); }},
      {"normal_parameter",
       [=](int64_t n) {
         normal_parameter({n, 2}, *random());
       }},
      {"ParameterBudget", [](int64_t n) { ParameterBudget(n, 2).add({n}); }},
      {"ParameterBudget tensors", [](int64_t n) { ParameterBudget(2, n).add({2}); }},
      {"SlidingCache",
       [](int64_t n) {
         SlidingCache cache(n);
         cache.append(some({1, 2, 2}));
         cache.append(some({1, 2, 2}));
         cache.forget_newest(n);
       }},
      {"SlidingCache of long",
       [](int64_t n) {
         SlidingCache cache(2);
         cache.append(expand(some({1, 1}), {1, n}));
       }},
      {"alibi farthest",
       [=](int64_t n) {
         Context context;
         MultiHeadAttention({.position = AttentionPosition::alibi}, {4, 2}, *random())
             .position_table(n, 0, context);
       }},
      {"alibi nearest",
       [=](int64_t n) {
         Context context;
         MultiHeadAttention({.position = AttentionPosition::alibi}, {4, 2}, *random())
             .position_table(3, n, context);
       }},
      {"rope",
       [=](int64_t n) {
         MultiHeadAttention layer({.position = AttentionPosition::rope}, {4, 2}, *random());
         layer.rotated({some({1, 2, 2, 2}), some({1, 2, 2, 2}), some({1, 2, 2, 2})}, n, 0);
       }},
      {"transformer_xl farthest",
       [=](int64_t n) {
         Context context;
         TransformerXLAttention({}, {4, 2}, *random()).position_table(n, 0, context);
       }},
      {"transformer_xl nearest",
       [=](int64_t n) {
         Context context;
         TransformerXLAttention({}, {4, 2}, *random()).position_table(3, n, context);
       }},
      {"aft band",
       [=](int64_t n) {
         Aft({.form = AftForm::local, .max_len = 4, .window = 2}, {4}, *random()).band(n, 1);
       }},
      {"aft band T", [=](int64_t n) { Aft({.form = AftForm::simple}, {4}, *random()).band(1, n); }},
      {"aft conv band",
       [=](int64_t n) {
         Aft({.form = AftForm::conv, .window = 2}, {4, 2}, *random()).band(n, n);
       }},
      {"embedding first",
       [=](int64_t n) {
         Context context;
         TokenEmbedding("model",
                        {.vocab_size = 3, .d_model = 4, .position = TokenPosition::sinusoid},
                        *random())(Tokens{{1, 2}, {0, 1}}, n, context);
       }},
      {"learned embedding first",
       [=](int64_t n) {
         Context context;
         TokenEmbedding(
             "model",
             {.vocab_size = 3, .d_model = 4, .position = TokenPosition::learned, .max_len = 3},
             *random())(Tokens{{1, 2}, {0, 1}}, n, context);
       }},
      {"embedding vocab_size",
       [=](int64_t n) { TokenEmbedding("model", {.vocab_size = n, .d_model = 4}, *random()); }},
      {"embedding d_model",
       [=](int64_t n) {
         TokenEmbedding("model",
                        {.vocab_size = 0, .d_model = n, .position = TokenPosition::sinusoid},
                        *random());
       }},
      {"first_member",
       [=](int64_t n) {
         Context context{.training = true};
         context.first_member = n;
         MultiHeadAttention({.attention_dropout = 0.5}, {4, 2}, *random())(some({1, 2, 4}),
                                                                           context);
       }},
  };
  calls.insert(calls.end(), more.begin(), more.end());
  check_ends(calls);
}

TEST_CASE("sizes: of models, and of what is written and scored with them") {
  std::vector<Call> calls;
  auto with = [&](const std::string& name, auto change) {
    calls.push_back({"model " + name, [=](int64_t n) {
                       LanguageModelConfig config = small_transformer_xl();
                       change(config, n);
                       LanguageModel model = new_model(config);
                       Context context;
                       model(Tokens{{1, 3}, {0, 1, 2}}, Memory(), context);
                     }});
  };
  with("vocab_size", [](auto& config, int64_t n) { config.vocab_size = n; });
  with("d_model", [](auto& config, int64_t n) { config.d_model = n; });
  with("n_layer", [](auto& config, int64_t n) { config.n_layer = n; });
  with("n_head", [](auto& config, int64_t n) { config.n_head = n; });
  with("d_inner", [](auto& config, int64_t n) { config.d_inner = n; });
  with("max_len", [](auto& config, int64_t n) {
    config.position = TokenPosition::learned;
    config.max_len = n;
  });
  with("layer_positions", [](auto& config, int64_t n) {
    config.position = TokenPosition::learned;
    config.layer_positions = true;
    config.max_len = n;
  });
  with("window", [](auto& config, int64_t n) {
    config.block = BlockType::r_transformer_block;
    config.window = n;
  });
  with("rnn_layers", [](auto& config, int64_t n) {
    config.block = BlockType::r_transformer_block;
    config.window = 2;
    config.rnn_layers = n;
  });
  with("wrapped fields of JSON", [](auto& config, int64_t n) {
    config = config_from_json<LanguageModelConfig>(text(
        R"({"vocab_size": 7, "d_model": 4, "n_layer": )", n,
        R"(, "n_head": 2, "d_inner": 4, "mixer": {"type": "multi_head_attention", "window": [)", n,
        ", ", n, R"(], "chunk": [)", n, ",", n, "]}}"));
  });

  auto generating = [&](const std::string& name, auto change) {
    for (bool learned : {false, true})
      calls.push_back({text("generate ", name, learned ? " learned" : ""), [=](int64_t n) {
                         LanguageModel model =
                             new_model(learned ? small_transformer(6) : small_transformer_xl());
                         GenerateOptions options{.length = 10};
                         change(options, n);
                         if (options.length > 100 && options.length <= 1000000000) return;
                         generate(model, std::vector<int32_t>{1, 2, 3, 4, 5, 6, 1, 2}, options);
                       }});
  };
  generating("length", [](auto& options, int64_t n) { options.length = n; });
  generating("mem_len", [](auto& options, int64_t n) { options.mem_len = n; });
  generating("positions", [](auto& options, int64_t n) { options.positions = n; });
  generating("top_k", [](auto& options, int64_t n) { options.sampling.top_k = n; });
  generating("repetition_window", [](auto& options, int64_t n) {
    options.sampling.repetition_penalty = 2;
    options.sampling.repetition_window = n;
  });
  generating("repetition_penalty",
             [](auto& options, int64_t n) { options.sampling.repetition_penalty = double(n); });
  generating("temperature",
             [](auto& options, int64_t n) { options.sampling.temperature = double(n); });
  generating("seed", [](auto& options, int64_t n) { options.seed = static_cast<uint64_t>(n); });

  for (EvaluationMode mode :
       {EvaluationMode::memory, EvaluationMode::chunks, EvaluationMode::sliding})
    for (bool learned : {false, true}) {
      auto scoring = [&](const std::string& name, auto change) {
        calls.push_back(
            {text("evaluate ", mode, ' ', name, learned ? " learned" : ""), [=](int64_t n) {
               LanguageModel model =
                   new_model(learned ? small_transformer(80) : small_transformer_xl());
               EvaluationConfig config{.mode = mode, .tgt_len = 8, .mem_len = 4, .batch_size = 2};
               change(config, n);
               evaluate(model, text_of_200, config);
             }});
      };
      scoring("tgt_len", [](auto& config, int64_t n) { config.tgt_len = n; });
      scoring("mem_len", [](auto& config, int64_t n) { config.mem_len = n; });
      scoring("ext_len", [](auto& config, int64_t n) { config.ext_len = n; });
      scoring("all", [](auto& config, int64_t n) {
        config.tgt_len = config.mem_len = config.ext_len = n;
      });
      scoring("batch_size", [](auto& config, int64_t n) { config.batch_size = n; });
    }
  calls.push_back({"remember", [](int64_t n) { remember({}, {some({1, 2, 2})}, n); }});
  calls.push_back({"remember fed_again", [](int64_t n) {
                     remember({some({1, 2, 2})}, {some({1, 2, 2})}, 3, n);
                   }});
  calls.push_back({"model limit", [](int64_t n) {
                     LanguageModel model = new_model(small_transformer_xl());
                     auto cache = model.make_cache(n);
                     Context context;
                     model(Tokens{{1, 2}, {0, 1}}, *cache, context);
                     cache->forget_newest(n);
                   }});
  calls.push_back({"tokens of a wrong shape", [](int64_t n) {
                     LanguageModel model = new_model(small_transformer_xl());
                     auto cache = model.make_cache();
                     Context context;
                     model(Tokens{{n, n}, {0, 1}}, *cache, context);
                   }});
  check_ends(calls);
}

namespace {

EncoderDecoder small_translator() {
  EncoderDecoderConfig config{.source_vocab_size = 6,
                              .target_vocab_size = 6,
                              .d_model = 4,
                              .n_encoder_layer = 1,
                              .n_decoder_layer = 1,
                              .n_head = 2,
                              .d_inner = 4};
  Random random{.seed = 1};
  return EncoderDecoder(config, random);
}

}  // namespace

TEST_CASE("sizes: of an encoder-decoder, and of what it writes") {
  const Padded<Tokens> sources = pad({{1, 2}, {3}, {4, 5}, {2}});
  std::vector<Call> calls;
  auto searching = [&](const std::string& name, auto change) {
    calls.push_back({"beam_search " + name, [=](int64_t n) {
                       EncoderDecoder model = small_translator();
                       DecodingOptions options{.begin = 0, .end = 1, .max_length = 5};
                       BeamOptions beam;
                       Padded<Tokens> given = sources;
                       change(options, beam, given, n);
                       beam_search(model, given, options, beam);
                     }});
  };
  searching("width", [](auto&, auto& beam, auto&, int64_t n) { beam.width = n; });
  searching("max_length", [](auto& options, auto& beam, auto&, int64_t n) {
    beam.width = 1;
    options.max_length = n;
    options.end = 1;
    if (n > 3 && n <= 1e9) options.max_length = 3;  // more would be a result after hours
  });
  searching("length_penalty",
            [](auto&, auto& beam, auto&, int64_t n) { beam.length_penalty = double(n); });
  searching("begin", [](auto& options, auto&, auto&, int64_t n) { options.begin = as_int(n); });
  searching("sources", [](auto&, auto&, auto& given, int64_t n) { given.values.shape = {n, 2}; });
  searching("length of sources", [](auto&, auto&, auto& given, int64_t n) {
    given.values.shape = {4, n};
  });
  searching("no sources", [](auto&, auto&, auto& given, int64_t n) {
    given = {Tokens{{0, n}, {}}};
  });
  calls.push_back({"best_score", [](int64_t n) { BeamOptions().best_score({}, n); }});
  calls.push_back({"sample_targets", [=](int64_t n) {
                     Sampling sampling;
                     sampling.top_k = n;
                     sample_targets(small_translator(), sources,
                                    {.begin = 0, .end = 1, .max_length = 5}, sampling,
                                    static_cast<uint64_t>(n), static_cast<uint64_t>(n));
                   }});
  auto with = [&](const std::string& name, auto change) {
    calls.push_back({"encoder_decoder " + name, [=](int64_t n) {
                       EncoderDecoderConfig config = small_translator().config;
                       change(config, n);
                       Random random;
                       EncoderDecoder model(config, random);
                     }});
  };
  with("source_vocab_size", [](auto& config, int64_t n) { config.source_vocab_size = n; });
  with("target_vocab_size", [](auto& config, int64_t n) { config.target_vocab_size = n; });
  with("d_model", [](auto& config, int64_t n) { config.d_model = n; });
  with("n_encoder_layer", [](auto& config, int64_t n) { config.n_encoder_layer = n; });
  with("n_decoder_layer", [](auto& config, int64_t n) { config.n_decoder_layer = n; });
  with("n_head", [](auto& config, int64_t n) { config.n_head = n; });
  with("d_inner", [](auto& config, int64_t n) { config.d_inner = n; });
  with("encoder_max_len", [](auto& config, int64_t n) {
    config.encoder_position = TokenPosition::learned;
    config.encoder_max_len = n;
  });
  check_ends(calls);
}

TEST_CASE("sizes: of trainings") {
  std::vector<Call> calls = {
      {"rows_at begin", [](int64_t n) { rows_at(text_of_200, {n}, 0, 2); }},
      {"rows_at first", [](int64_t n) { rows_at(text_of_200, {1}, n, 2); }},
      {"rows_at end", [](int64_t n) { rows_at(text_of_200, {1}, 0, n); }},
      {"rows_at all", [](int64_t n) { rows_at(text_of_200, {n}, n, n); }},
      {"RandomBlocks batch_size", [](int64_t n) { RandomBlocks(text_of_200, n, 3, {}).next(); }},
      {"RandomBlocks block_size", [](int64_t n) { RandomBlocks(text_of_200, 2, n, {}).next(); }},
      {"RandomBlocks loss_tokens",
       [](int64_t n) { RandomBlocks(text_of_200, 2, 3, {}, n).next(); }},
      {"RandomBlocks changed",
       [](int64_t n) {
         RandomBlocks blocks(text_of_200, 2, 3, {});
         blocks.batch_size = blocks.block_size = n;
         blocks.next();
       }},
      {"ParallelStreams batch_size", [](int64_t n) { ParallelStreams(text_of_200, n, 3).next(); }},
      {"ParallelStreams block_size", [](int64_t n) { ParallelStreams(text_of_200, 2, n).next(); }},
      {"ParallelStreams ext_len",
       [](int64_t n) {
         ParallelStreams streams(text_of_200, 2, 3, n);
         streams.next();
         streams.next();
       }},
      {"ParallelStreams loss_tokens",
       [](int64_t n) { ParallelStreams(text_of_200, 2, 3, 0, n).next(); }},
      {"ParallelStreams position",
       [](int64_t n) {
         ParallelStreams streams(text_of_200, 2, 3);
         streams.position = n;
         streams.next();
       }},
      {"ParallelStreams changed",
       [](int64_t n) {
         ParallelStreams streams(text_of_200, 2, 3);
         streams.batch_size = n;
         streams.next();
       }},
      {"schedule",
       [](int64_t n) {
         for (auto type : {ScheduleType::cosine, ScheduleType::noam})
           Schedule{type, 1, 0, n, n, n}.at(n);
         Schedule{.warmup_iters = 3, .lr_decay_iters = 9}.at(n);
         Schedule{.warmup_iters = n, .lr_decay_iters = n / 2}.at(3);
       }},
      {"warmed_up",
       [](int64_t n) {
         warmed_up(n, 4, 3);
         warmed_up(5, n, 3);
         warmed_up(5, n, n);
         warmed_up(n, n, n - (n > INT64_MIN));
       }},
      {"own_rows", [](int64_t n) { own_rows(alone(), n); }},
  };
  auto training = [&](const std::string& name, auto change) {
    calls.push_back(
        {"Trainer " + name, [=](int64_t n) {
           LanguageModel model = new_model(small_transformer_xl());
           TrainerConfig config{
               .batch_size = 2, .block_size = 4, .mem_len = 4, .max_iters = 2, .warmup_iters = 1};
           change(config, n);
           Trainer trainer(model, text_of_200, {}, config);
           if (config.gradient_accumulation_steps > 100) return;
           trainer.step();
           trainer.step();
           trainer.evaluation();
         }});
  };
  training("batch_size", [](auto& config, int64_t n) { config.batch_size = n; });
  training("batch_size of blocks", [](auto& config, int64_t n) {
    config.mem_len = 0;
    config.batches = BatchType::blocks;
    config.batch_size = n;
  });
  training("block_size", [](auto& config, int64_t n) { config.block_size = n; });
  training("mem_len", [](auto& config, int64_t n) { config.mem_len = n; });
  training("ext_len", [](auto& config, int64_t n) { config.ext_len = n; });
  training("mem_len and ext_len",
           [](auto& config, int64_t n) { config.ext_len = config.mem_len = n; });
  training("loss_tokens", [](auto& config, int64_t n) { config.loss_tokens = n; });
  training("gradient_accumulation_steps",
           [](auto& config, int64_t n) { config.gradient_accumulation_steps = n; });
  training("batch_warmup_iters", [](auto& config, int64_t n) {
    config.gradient_accumulation_steps = 2;
    config.batch_warmup_iters = n;
  });
  training("both", [](auto& config, int64_t n) {
    config.gradient_accumulation_steps = config.batch_warmup_iters = n;
  });
  training("eval_iters", [](auto& config, int64_t n) { config.eval_iters = n; });
  training("eval_interval", [](auto& config, int64_t n) { config.eval_interval = n; });
  training("max_iters", [](auto& config, int64_t n) { config.max_iters = n; });
  training("warmup_iters", [](auto& config, int64_t n) { config.warmup_iters = n; });
  training("lr_decay_iters", [](auto& config, int64_t n) { config.lr_decay_iters = n; });
  training("patience", [](auto& config, int64_t n) { config.patience = n; });

  const std::vector<TokenPair> pairs{{{1, 2}, {3}}, {{2}, {4, 5}}, {{3}, {2}}};
  auto of_pairs = [&](const std::string& name, auto change) {
    calls.push_back({"PairTrainer " + name, [=](int64_t n) {
                       EncoderDecoder model = small_translator();
                       PairTrainerConfig config{.batch_size = 2, .max_iters = 2};
                       change(config, n);
                       PairTrainer trainer(model, pairs, {}, {0, 1}, config);
                       trainer.step();
                       trainer.evaluation();
                     }});
  };
  of_pairs("batch_size", [](auto& config, int64_t n) { config.batch_size = n; });
  of_pairs("eval_pairs", [](auto& config, int64_t n) { config.eval_pairs = n; });
  std::vector<Call> more = {
      {"batches_by_length", [](int64_t n) { batches_by_length(3, n, {}); }},
      {"batches_by_length items", [](int64_t n) { batches_by_length(n, 1 << 20, {}); }},
      {"evaluate pairs",
       [=](int64_t n) {
         evaluate(small_translator(), pairs, {0, 1}, n);
       }},
      {"make_batch",
       [=](int64_t n) {
         make_batch(pairs, std::vector{n}, {0, 1});
       }},
      {"rows of pairs",
       [=](int64_t n) {
         rows(make_batch(pairs, std::vector<int64_t>{0, 1}, {0, 1}), 0, n);
       }},
      {"Epochs items", [](int64_t n) { Epochs(n, 1 << 20, 1).next(); }},
      {"Epochs batch_size",
       [](int64_t n) {
         Epochs epochs(3, n, 1);
         for (int k = 0; k < 5; ++k) epochs.next();
       }},
      {"Epochs epoch",
       [](int64_t n) {
         Epochs epochs(3, 2, 1);
         epochs.go_to(n, 0);
         for (int k = 0; k < 5; ++k) epochs.next();
       }},
      {"Epochs position",
       [](int64_t n) {
         Epochs epochs(3, 2, 1);
         epochs.go_to(0, n);
         epochs.next();
       }},
  };
  calls.insert(calls.end(), more.begin(), more.end());
  check_ends(calls);
}
