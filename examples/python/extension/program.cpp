#include "program.h"

#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/machine/spin_lock.h"
#include "described.h"
#include "model_program.h"
#include "module_program.h"
#include "nn/layer.h"
#include "nn/models/config.h"
#include "nn/parameter_budget.h"
#include "ops/attention.h"
#include "ops/attention_check.h"
#include "ops/shape.h"
#include "ops/shift.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::string Program::tensor_name(size_t n) const {
  return text(name_, ": ", n < tensors_.size() ? tensors_[n] : text("tensor ", n));
}

std::unique_ptr<Cache> Program::make_cache(int64_t) const { fail(name_, ": has no step"); }

Tensor Program::step(std::span<const Tensor>, Cache&, Context&) { fail(name_, ": has no step"); }

std::vector<std::vector<int32_t>> Program::generate(std::span<const Tensor>, Context&,
                                                    const Generation&) {
  fail(name_, ": generates nothing");
}

void Program::expect_all(std::span<const Tensor> tensors) const {
  require(tensors.size() == tensors_.size(), name_, ": ", tensors.size(), " tensors, expected ",
          tensors_.size());
}

void Program::takes_also(const std::vector<std::string>& names) {
  tensors_.insert(tensors_.end(), names.begin(), names.end());
}

namespace {

template <class Config>
class LayerProgram : public ModuleProgram<Config> {
 public:
  LayerProgram(const Config& config, Init init)
      : ModuleProgram<Config>(config, {"x", "memory", "context"}, init), width_(config.d_model) {}

  Tensor run(std::span<const Tensor> tensors, Context& context) override {
    auto guard = lend(tensors);
    const Tensor &x = tensors[0], &memory = tensors[1], &source = tensors[2];
    check_input(name_, x, memory, width_);
    if (x.count() == 0) return Tensor::empty(x.shape());
    if constexpr (std::is_same_v<Config, Sized<EncoderDecoderBlockConfig>>) {
      require(source.defined(), name_, ": no context, expected [B, S, ", width_, "]");
      check_context(source);
      // The masks are the mixer's, and the cross-attention drops by streams of its own.
      Source given{source,
                   {.training = context.training,
                    .random = {.seed = context.random.seed, .stream = uint64_t{1} << 32}}};
      context.source = &given;
      return module_(x, memory, context);
    } else {
      if constexpr (std::is_same_v<Config, Sized<MultiHeadAttentionConfig>>)
        if (source.defined()) {
          require(!memory.defined(), name_, ": memory with a context");
          check_context(source);
          require(source.size(0) == x.size(0), name_, ": context ", source.shape(), " for x ",
                  x.shape(), ", expected [", x.size(0), ", S, ", width_, "]");
          return module_.cross(x, source, context);
        }
      require(!source.defined(), name_, ": takes no context");
      return module_(x, memory, context);
    }
  }

  std::unique_ptr<Cache> make_cache(int64_t limit) const override {
    return module_.make_cache(limit);
  }

  Tensor step(std::span<const Tensor> tensors, Cache& cache, Context& context) override {
    auto guard = lend(tensors);
    const Tensor &x = tensors[0], &source = tensors[2];
    Source given{source};
    if constexpr (std::is_same_v<Config, Sized<EncoderDecoderBlockConfig>>) {
      if (source.defined()) check_context(source);
      context.source = &given;
    } else {
      require(!source.defined(), name_, ": a step takes no context");
    }
    return module_(x, cache, context);
  }

 private:
  using ModuleProgram<Config>::lend, ModuleProgram<Config>::module_, Program::name_;

  /// Throws by the name of the argument, which is a `source` inside of the library.
  void check_context(const Tensor& source) const {
    require(source.rank() == 3 && source.size(2) == width_, name_, ": context ", source.shape(),
            ", expected [B, S, ", width_, "]");
  }

  int64_t width_;
};

/// One of the bare shifts, of x alone.
template <class Shift>
class ShiftProgram : public Program {
 public:
  ShiftProgram(std::string name, Shift shift)
      : Program(std::move(name), {"x", "memory", "context"}), shift_(shift) {}

  Tensor run(std::span<const Tensor> tensors, Context& context) override {
    expect_all(tensors);
    require(!tensors[1].defined(), name_, ": takes no memory");
    require(!tensors[2].defined(), name_, ": takes no context");
    context.refuse_masks(name_.c_str());
    require(tensors[0].rank() >= 2, name_, ": x ", tensors[0].shape(), ", expected […, T, K]");
    return contiguous(shift_(tensors[0]));
  }

 private:
  Shift shift_;
};

class AttentionProgram : public Program {
 public:
  explicit AttentionProgram(const std::string& config)
      : Program(
            "relative_attention",
            {"q", "k", "v", "content_bias", "position_bias", "position_rows", "position_queries",
             "position_scores", "clipped_keys", "clipped_values", "key_scores", "sink", "spans"}) {
    nlohmann::json options = parse_json("relative_attention: the options", config, 2);
    sight_.causal = option(options, "causal", true);
    if (options.contains("scale")) scale_ = option(options, "scale", 1.0);
    sight_.rules([&]<class Rule>(std::optional<Rule>& rule, const Field& field) {
      if (options.contains(field.name)) rule = rule_in<Rule>(options, field.name);
    });
    if (options.contains("soft_cap")) soft_cap_ = soft_cap(option(options, "soft_cap", 0.0));
    dropout_ = option(options, "dropout_p", 0.0);
    require(0 <= dropout_ && dropout_ < 1, name_, ": a dropout rate of ", dropout_,
            ", expected 0 to below 1");
  }

  Tensor run(std::span<const Tensor> tensors, Context& context) override {
    expect_all(tensors);
    RelativeAttention a{.query = tensors[0],
                        .key = tensors[1],
                        .value = tensors[2],
                        .content_bias = tensors[3],
                        .position_bias = tensors[4],
                        .position_rows = tensors[5],
                        .position_queries = tensors[6],
                        .position_scores = tensors[7],
                        .key_scores = tensors[10],
                        .clipped_keys = tensors[8],
                        .clipped_values = tensors[9],
                        .sink = tensors[11]};
    check_heads(a.query, a.key, a.value);
    auto D = static_cast<double>(a.query.size(-1));
    a.factor = static_cast<Scalar>(scale_.value_or(1 / std::sqrt(D)));
    require(!scale_ || std::isfinite(*a.factor), name_, ": a scale of ", scale_.value_or(1),
            ", beyond the range of the tensors");
    a.score_function = soft_cap_;
    a.visibility = {sight_, context.key_padding_mask, context.attention_mask};
    if (tensors[12].defined()) a.visibility.spans = spans_of(tensors[12]);
    a.dropout = context.dropout_pattern(dropout_);
    return relative_attention(a);
  }

 private:
  /// Throws by the names of the arguments, which are those of the equation.
  void check_heads(const Tensor& q, const Tensor& k, const Tensor& v) const {
    require_defined("relative_attention", "q", q, "k", k, "v", v);
    require(are_heads(q, k, v), name_, ": q ", q.shape(), ", k ", k.shape(), ", v ", v.shape(),
            ", expected [B, H, T, D], [B, G, K, D] and [B, G, K, E], where G divides H");
  }

  /// Returns a soft cap, or throws by the name of the argument.
  std::shared_ptr<const SoftCap> soft_cap(double cap) const {
    try {
      return std::make_shared<SoftCap>(cap);
    } catch (const Error&) {
      fail(name_, ": a soft_cap of ", cap,
           ", expected a number above 0 within the range of the tensors");
    }
  }

  /// Returns spans of keys, which PyTorch's side made of whole numbers.
  std::shared_ptr<const Tokens> spans_of(const Tensor& x) const {
    Tokens result{x.shape(), {}};
    for (Scalar number : x.values()) {
      require(std::abs(number) < 1e9, name_, ": spans with ", number, ", expected numbers of keys");
      result.values.push_back(static_cast<int32_t>(number));
    }
    return std::make_shared<const Tokens>(std::move(result));
  }

  template <class Value>
  Value option(const nlohmann::json& options, const char* key, Value absent) const {
    try {
      return options.value(key, absent);
    } catch (const nlohmann::json::exception&) {
      fail(name_, ": ", key, " is ", shown(options.contains(key) ? options[key] : options));
    }
  }

  /// Returns the rule that a whole number makes, or the two of a list.
  template <class Rule>
  Rule rule_in(const nlohmann::json& options, const std::string& key) const {
    const nlohmann::json& given = options[key];
    std::vector<int64_t> numbers;
    for (const nlohmann::json& number : given.is_array() ? given : nlohmann::json{given}) {
      require(number.is_number(), name_, ": ", key, " is ", shown(given));
      bool fits = number.is_number_integer() &&
                  !(number.is_number_unsigned() && number.get<uint64_t>() > uint64_t{INT64_MAX});
      require(fits, name_, ": ", rule_text(key, shown(given)), ", expected ",
              !std::is_same_v<Rule, int64_t> && (given.is_array() || !is_of_one_number<Rule>)
                  ? "two whole numbers from 0 to "
                  : "1 to ",
              INT64_MAX);
      numbers.push_back(number.get<int64_t>());
    }
    size_t count = given.is_array() || !is_of_one_number<Rule> ? 2 : 1;
    if (numbers.size() == count) {
      if constexpr (is_of_one_number<Rule>)
        if (count == 1) return numbers[0];
      if constexpr (std::is_constructible_v<Rule, int64_t, int64_t>)
        return Rule{numbers[0], numbers[1]};
    }
    fail(name_, ": ", rule_text(key, shown(given)), ", expected ",
         std::is_same_v<Rule, int64_t> ? "a whole number" : "two whole numbers");
  }

  std::optional<double> scale_;
  std::shared_ptr<const SoftCap> soft_cap_;
  Sight sight_;
  double dropout_ = 0;
};

template <class Shift>
std::unique_ptr<Program> make_shift_program(const char* name, Shift shift) {
  return std::make_unique<ShiftProgram<Shift>>(name, shift);
}

}  // namespace

std::unique_ptr<Program> make_program(const std::string& name, const std::string& config,
                                      std::optional<uint64_t> seed) {
  Random random{.seed = seed.value_or(0)};
  ParameterBudget budget;
  Init init = seed ? Init(random) : Init(budget);
  if (name == "relative_attention") return std::make_unique<AttentionProgram>(config);
  if (auto model = make_model_program(name, config, init)) return model;
  if (name == RelShiftConfig::type) {
    bool zero_triu = config_from_json<RelShiftConfig>(config).zero_triu;
    return make_shift_program("rel_shift",
                              [zero_triu](const Tensor& x) { return rel_shift(x, zero_triu); });
  }
  if (name == ShiftRightConfig::type) {
    config_from_json<ShiftRightConfig>(config);
    return make_shift_program("shift_right", [](const Tensor& x) { return shift_right(x); });
  }
  return std::visit(
      [&]<class Config>(const Config& each) -> std::unique_ptr<Program> {
        return std::make_unique<LayerProgram<Config>>(each, init);
      },
      known_config<LayerConfig>(name, config));
}

namespace {

using Programs = std::unordered_map<std::string, std::vector<std::unique_ptr<Program>>>;

/// The programs that nobody has borrowed, by name and config. They are never destroyed: threads may
/// outlive them.
Programs& idle = *new Programs;
constinit std::mutex idle_mutex;
[[maybe_unused]] const bool forks_hold_idle = hold_over_forks<idle_mutex>();

}  // namespace

BorrowedProgram::BorrowedProgram(const std::string& name, const std::string& config)
    : key_(name + ' ' + config) {
  {
    std::lock_guard lock(idle_mutex);
    auto found = idle.find(key_);
    if (found != idle.end() && !found->second.empty()) {
      program_ = std::move(found->second.back());
      found->second.pop_back();
      return;
    }
  }
  program_ = make_program(name, config);
}

BorrowedProgram::~BorrowedProgram() {
  std::lock_guard lock(idle_mutex);
  // A caller may ask for another scale each time.
  if (idle.size() >= 1000 && !idle.contains(key_)) return;
  idle[key_].push_back(std::move(program_));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
