#include "data.h"

#include <cmath>

#include "core/errors.h"
#include "dates.h"

namespace seq2seq {

using shiftgrad::require;

namespace {

constexpr int64_t embedded_dates = 20000;

Rows read_all(const std::string& path, BadRows bad) {
  return {data_name(path), path.empty() ? written_dates(embedded_dates) : read_rows(path, bad)};
}

/// Removes the last rows, about this share of them, and returns them.
std::vector<Row> cut_end(std::vector<Row>& rows, double share) {
  auto count = static_cast<int64_t>(std::ceil(static_cast<double>(rows.size()) * share));
  auto cut = rows.end() - count;
  while (cut != rows.begin() && cut != rows.end() && cut->source == (cut - 1)->source) --cut;
  std::vector<Row> end(cut, rows.end());
  rows.erase(cut, rows.end());
  return end;
}

Symbols symbols_of(const Split& split, bool source, bool target, Unit unit) {
  std::vector<std::string_view> lines;
  for (const Rows* part : {&split.train, &split.validation})
    for (const Row& row : part->rows) {
      if (source) lines.push_back(row.source);
      if (target) lines.push_back(row.target);
    }
  return Symbols::of(lines, unit, first_symbol);
}

}  // namespace

std::string data_name(const std::string& path) { return path.empty() ? "the dates" : path; }

Split read_split(const TrainFlags& flags) {
  Split split{read_all(flags.data, flags.bad_rows()), {}};
  if (flags.val_data.empty()) {
    split.validation = {split.train.place, cut_end(split.train.rows, flags.eval_split)};
    const std::vector<Row>& held = split.validation.rows;
    require(!split.train.rows.empty(), split.train.place, ": ", held.size(),
            held.size() == 1 ? " row, " : " rows, ",
            held.size() > 1 && held.front().source == held.back().source
                ? "all of one source, of which none"
                : "so few that none",
            " is left to train on; expected --val_data");
  } else {
    split.validation = read_all(flags.val_data, flags.bad_rows());
  }
  return split;
}

Data read_data(const TrainFlags& flags, const SavedRun* run, const NewSymbols& new_symbols) {
  Split split = read_split(flags);
  bool shared = flags.model.share_embedding;
  Unit source = unit_named("source_tokens", flags.source_tokens);
  Unit target = unit_named("target_tokens", flags.target_tokens);
  auto symbols = [&](const Symbols* known, bool of_source, bool of_target, Unit unit) {
    if (known && !new_symbols.added) return *known;
    Symbols found = symbols_of(split, of_source, of_target, unit);
    return known ? known->with(found) : found;
  };
  Data data{symbols(run ? &run->source_symbols : nullptr, true, shared, source),
            symbols(run ? &run->target_symbols : nullptr, shared, true, target),
            {},
            {}};
  auto tokens = [&](const Rows& part) {
    return encode(part.rows, data.source_symbols, data.target_symbols, flags.model.max_len,
                  part.place, flags.bad_rows(), new_symbols.remedy);
  };
  data.train = tokens(split.train);
  data.validation = tokens(split.validation);
  return data;
}

}  // namespace seq2seq
