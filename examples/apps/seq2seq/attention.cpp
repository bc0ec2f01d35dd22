// seq2seq attention draws which tokens of the source each token of a target attends to.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "alignments.h"
#include "command.h"
#include "core/errors.h"
#include "decoding.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/named_run.h"

namespace seq2seq {

using shiftgrad::require;

namespace {

struct AttentionFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string source, target;
  bool heads = false;
  std::string out;
  bool json = false;
  DecodingFlags decoding{};
};

/// Returns the tokens of --source or --target.
std::vector<int32_t> tokens_of(const char* flag, const std::string& line, const Symbols& symbols,
                               int64_t longest) {
  Line read = read_line(line, symbols, longest);
  require(!read.error, flag, ": ", read.error.value_or(""));
  return read.tokens;
}

Command::Work prepare(const AttentionFlags& flags) {
  constexpr int64_t most = 100;
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  Translator translator(run, flags.decoding);
  int64_t longest = std::min(most, run.flags.model.max_len);
  std::vector<int32_t> source = tokens_of("--source", flags.source, run.source_symbols, longest);
  std::string target =
      flags.target.empty() ? translator.translate({source}, 0).front() : flags.target;
  require(!target.empty(), "--source ", flags.source,
          ": the model's translation is empty, expected --target");
  std::vector<int32_t> tokens =
      tokens_of(flags.target.empty() ? "--source: its translation" : "--target", target,
                run.target_symbols, longest - 1);
  std::vector<std::string> columns = split(flags.source, run.source_symbols.unit());
  std::vector<std::string> rows = rows_of(target, run.target_symbols.unit());
  std::string out =
      flags.out.empty() ? apps::folder_of(flags.out_dir) + "/attention.svg" : flags.out;
  auto maps = alignments(translator.model(), source, tokens, flags.heads);
  if (flags.json) {
    nlohmann::json figure = {
        {"source", columns}, {"target", rows}, {"blocks", json_of(maps, columns.size())}};
    return [figure] { apps::print_json(figure); };
  }
  apps::check_picture_path(out);
  return [=, title = "cross-attention of " + run.source] {
    apps::write_picture(out,
                        apps::picture_of_maps(title, maps, {"target", rows}, {"source", columns}));
  };
}

}  // namespace

Command attention_command(CLI::App& program) {
  CLI::App& app = add_command(program, "attention",
                              "Draw which tokens of a source each token of its target attends to");
  auto flags = std::make_shared<AttentionFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  set_required(add_flag(app, "source", flags->source, "LINE", "source of 1 to 100 tokens"));
  add_flag(app, "target", flags->target, "LINE", "target (default: the model's translation)");
  add_switch(app, "heads", flags->heads, "draw a map for each head instead of their mean");
  apps::add_picture_flags(app, flags->out, flags->json, " (default: OUT_DIR/attention.svg)");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace seq2seq
