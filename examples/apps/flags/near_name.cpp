#include "near_name.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string_view>

#include "core/errors.h"

namespace apps {

namespace {

/// What a name of another program means here.
struct OtherName {
  std::string_view typed, meant;  ///< `meant` is a name here, to which the hint leads
  std::string_view hint{};        ///< in place of "did you mean"
};

/// The names of nanoGPT, PyTorch, Hugging Face, of papers, and of the programs that came with those
/// of Transformer-XL and the R-Transformer.
constexpr OtherName other_names[] = {
    {"lr", "learning_rate"},
    {"wd", "weight_decay"},
    {"epochs", "max_iters"},
    {"steps", "max_iters"},
    {"max_steps", "max_iters"},
    {"max_step", "max_iters"},
    {"iters", "max_iters"},
    {"warmup", "warmup_iters"},
    {"warmup_steps", "warmup_iters"},
    {"decay_lr", "schedule"},
    {"clip", "grad_clip"},
    {"d_model", "n_embd"},
    {"hidden_size", "n_embd"},
    {"num_layers", "n_layer"},
    {"n_layers", "n_layer"},
    {"num_heads", "n_head"},
    {"n_heads", "n_head"},
    {"d_ff", "d_inner"},
    {"seq_len", "block_size"},
    {"context_length", "block_size"},
    {"tgt_len", "block_size"},
    {"dataset", "data"},
    {"dtype", "precision"},
    {"start", "prompt"},
    {"max_new_tokens", "length"},
    {"sample", "generate"},
    {"evaluate", "eval"},
    {"test", "eval"},
    {"show", "inspect"},
    {"device", "threads", "; it computes on the CPU, and --threads says on how many of its cores"},
    {"compile", "threads", "; it is compiled already"},
    {"optim", "optimizer"},
    {"lr_min", "min_lr"},
    {"eta_min", "min_lr"},
    {"batch_chunk", "gradient_accumulation_steps"},
    {"pre_lnorm", "norm_first"},
    {"ksize", "window"},
    {"attn_type", "model"},
    {"not_tied", "tie_embedding", ", did you mean --tie_embedding false?"},
    {"untie_r", "tie_position_biases", ", did you mean --tie_position_biases false?"},
    {"same_length", "window", "; --window gives every token as many keys"},
    {"rope", "transformer", ", did you mean --model transformer --position rope?"},
    {"alibi", "transformer", ", did you mean --model transformer --position alibi?"},
    {"gpt", "transformer"},
    {"gpt2", "transformer"},
    {"transformer-xl", "transformer_xl"},
    {"r-transformer", "r_transformer"},
    {"n_embd", "d_model"},
    {"embed_dim", "d_model"},
    {"is_causal", "causal"},
    {"attention", "multi_head_attention"},
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns what to say about a name that another program has, if there is something.
std::string hint(const std::string& typed, const std::vector<std::string>& names) {
  std::string dashes = typed.starts_with("-") ? "--" : "";
  std::string name = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  for (auto [other, meant, hint] : other_names) {
    std::string here = shiftgrad::text(dashes, meant);
    if (name == other && has(names, here))
      return hint.empty() ? ", did you mean " + here + "?" : std::string(hint);
  }
  return "";
}

}  // namespace

size_t edit_distance(const std::string& a, const std::string& b) {
  // Entry j of row i is the distance from the first i characters of a to the first j of b.
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last.back();
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& names) {
  constexpr size_t longest = 100;  // computing the distance takes longer for longer texts
  if (typed.size() > longest) return "";
  if (std::string said = hint(typed, names); !said.empty()) return said;
  auto distance = [&](const std::string& name) { return edit_distance(typed, name); };
  auto nearest = std::ranges::min_element(names, {}, distance);
  bool near = nearest != names.end() && distance(*nearest) <= 1 + typed.size() / 4;
  return near ? ", did you mean " + *nearest + "?" : "";
}

std::string complaint(const std::string& value, const std::string& choices) {
  std::vector<std::string> names;
  std::istringstream list(choices);
  for (std::string name; std::getline(list, name, '|');) names.push_back(name);
  if (has(names, value)) return "";
  std::string expected = names.front();
  for (size_t n = 1; n < names.size(); ++n)
    expected += (n + 1 < names.size() ? ", " : " or ") + names[n];
  return shiftgrad::text(", expected ", expected, did_you_mean(value, names));
}

void check_choice(const std::string& flag, const std::string& value, const std::string& choices) {
  std::string wrong = complaint(value, choices);
  shiftgrad::require(wrong.empty(), flag, ' ', value, wrong);
}

}  // namespace apps
