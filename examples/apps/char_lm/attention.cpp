// char_lm attention draws what each character of a text attends to, for each layer and head.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "attention_maps.h"
#include "command.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/named_run.h"
#include "figures.h"
#include "run_folder.h"

namespace char_lm {

using apps::folder_of;
using shiftgrad::require;

namespace {

struct AttentionFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string text;
  std::optional<int64_t> layer, head;
  std::string out;
  bool json = false;
};

using Layers = std::vector<std::vector<AttentionMap>>;

/// Returns the index alone if it is given, else all indices.
std::vector<int64_t> chosen(const char* flag, const std::optional<int64_t>& index, int64_t count) {
  require(!index || (0 <= *index && *index < count), flag, ' ', index.value_or(0),
          ", expected 0 to ", count - 1);
  if (index) return {*index};
  std::vector<int64_t> all;
  for (int64_t n = 0; n < count; ++n) all.push_back(n);
  return all;
}

/// Returns the chosen maps, a line of them for each layer.
Layers chosen_maps(const AttentionFlags& flags, const Layers& layers) {
  Layers maps;
  for (int64_t layer : chosen("--layer", flags.layer, std::ssize(layers))) {
    maps.emplace_back();
    for (int64_t head : chosen("--head", flags.head, std::ssize(layers[layer]))) {
      const AttentionMap& map = layers[layer][head];
      maps.back().push_back({shiftgrad::text("layer ", layer, ", ", map.title), map.weights});
    }
  }
  return maps;
}

Command::Work prepare(const AttentionFlags& flags) {
  constexpr int64_t most = 100;
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  shiftgrad::LanguageModel model = usable_model(run);
  std::vector<int32_t> text = run.vocabulary.encode(flags.text, "--text");
  int64_t longest = std::min(most, model.limits().keys);
  require(2 <= text.size() && std::ssize(text) <= longest, "--text of ", text.size(),
          " characters, expected 2 to ", longest);
  Layers layers = attention_maps(model, text);
  require(!layers.empty(), run.source, ": the model has no attention");
  Layers maps = chosen_maps(flags, layers);
  std::vector<std::string> characters = characters_of(text, run.vocabulary);
  std::string out = flags.out.empty() ? folder_of(flags.out_dir) + "/attention.svg" : flags.out;
  if (flags.json)
    return [figure = attention_figure(characters, maps)] { apps::print_json(figure); };
  apps::check_picture_path(out);
  hide_later_keys(maps, std::ssize(text));
  return [=, title = "attention weights of " + run.source] {
    apps::write_picture(
        out, apps::picture_of_maps(title, maps, {"query", characters}, {"key", characters}));
  };
}

}  // namespace

Command attention_command(CLI::App& program) {
  CLI::App& app = add_command(
      program, "attention",
      "Draw what each character of a text attends to, for each layer and head; for an attention "
      "free transformer, the weights in its sums, averaged over the channels");
  auto flags = std::make_shared<AttentionFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  set_required(add_flag(app, "text", flags->text, "TEXT",
                        "text of 2 to 100 characters for the model to read"));
  add_flag(app, "layer", flags->layer, "NUMBER",
           "draw this layer only, counted from 0 (default: all)", range::index);
  add_flag(app, "head", flags->head, "NUMBER", "draw this head only, counted from 0 (default: all)",
           range::index);
  add_picture_flags(app, flags->out, flags->json, " (default: OUT_DIR/attention.svg)");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
