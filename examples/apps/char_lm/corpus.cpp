#include "corpus.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "core/errors.h"
#include "examples/apps/runs/text.h"
#include "run_folder.h"

namespace char_lm {

using apps::read_text;
using apps::text_name;

namespace {

/// Returns where a text of `tokens` tokens is cut when this share of it, rounded up, is held back.
int64_t boundary(int64_t tokens, double share) {
  return tokens - static_cast<int64_t>(std::ceil(static_cast<double>(tokens) * share));
}

/// Whether the path is a run's: a folder, or a file of its weights.
bool is_run(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ||
         std::filesystem::path(path).extension() == ".safetensors";
}

/// Returns the vocabulary of --vocab_from.
Vocabulary vocabulary_from(const TrainFlags& flags) {
  const std::string& path = flags.vocab_from;
  shiftgrad::require(flags.vocab != "all_bytes",
                     "--vocab_from: --vocab all_bytes has all bytes already");
  if (!is_run(path)) {
    Vocabulary vocabulary(unit_of(flags.vocab));
    vocabulary.add(read_text(path), path);
    return vocabulary;
  }
  SavedRun run = load_run(path, "best");
  shiftgrad::require(run.vocabulary.unit() == unit_of(flags.vocab), "--vocab ", flags.vocab,
                     ": expected ", run.flags.vocab, ", as in ", run.source);
  return run.vocabulary;
}

/// Returns the vocabulary of a new run on these texts.
Vocabulary new_vocabulary(const TrainFlags& flags, const std::string& data,
                          const std::string& held_back) {
  if (!flags.vocab_from.empty()) return vocabulary_from(flags);
  if (flags.vocab == "all_bytes") return Vocabulary::all_bytes();
  Vocabulary vocabulary(unit_of(flags.vocab));
  vocabulary.add(data, text_name(flags.data));
  vocabulary.add(held_back, flags.val_data);
  return vocabulary;
}

}  // namespace

std::shared_ptr<const Corpus> read_corpus(const TrainFlags& flags, const Vocabulary* vocabulary,
                                          NewCharacters characters, const std::string& remedy) {
  std::string data = read_text(flags.data);
  std::string held_back = flags.val_data.empty() ? "" : read_text(flags.val_data);
  auto corpus =
      std::make_shared<Corpus>(vocabulary ? *vocabulary : new_vocabulary(flags, data, held_back));
  if (characters == NewCharacters::added) {
    corpus->vocabulary.add(data, text_name(flags.data));
    corpus->vocabulary.add(held_back, flags.val_data);
  }
  shiftgrad::KeptText text =
      corpus->vocabulary.encode_text(std::move(data), text_name(flags.data), remedy);
  bool cuts = flags.val_data.empty();
  int64_t cut = cuts ? boundary(text.size(), flags.eval_split) : text.size();
  corpus->train = text.part(0, cut);
  corpus->validation =
      cuts ? text.part(cut, text.size())
           : corpus->vocabulary.encode_text(std::move(held_back), flags.val_data, remedy);
  return corpus;
}

}  // namespace char_lm
