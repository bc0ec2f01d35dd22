#include "symbols.h"

#include <algorithm>
#include <set>

#include "examples/apps/draw/utf8.h"
#include "examples/apps/flags/near_name.h"

namespace seq2seq {

Unit unit_named(const std::string& flag, const std::string& name) {
  apps::check_choice("--" + flag, name, "characters|words");
  return name == "words" ? Unit::word : Unit::character;
}

namespace {

/// Removes the next symbol from a line and returns it, or an empty one if none is left.
std::string_view take_symbol(std::string_view& line, Unit unit) {
  if (unit == Unit::word) line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (line.empty()) return line;
  size_t length =
      unit == Unit::word ? std::min(line.find(' '), line.size()) : apps::read_utf8(line).length;
  std::string_view symbol = line.substr(0, length);
  line.remove_prefix(length);
  return symbol;
}

}  // namespace

std::vector<std::string> split(std::string_view line, Unit unit) {
  std::vector<std::string> symbols;
  for (auto symbol = take_symbol(line, unit); !symbol.empty(); symbol = take_symbol(line, unit))
    symbols.emplace_back(symbol);
  return symbols;
}

std::string join(const std::vector<std::string>& symbols, Unit unit) {
  std::string line;
  for (const std::string& symbol : symbols) {
    if (unit == Unit::word && !line.empty()) line += ' ';
    line += symbol;
  }
  return line;
}

Symbols::Symbols(Unit unit, std::vector<std::string> known, int32_t first)
    : unit_(unit), known_(std::move(known)), first_(first) {
  for (size_t n = 0; n < known_.size(); ++n)
    token_of_[known_[n]] = first_ + static_cast<int32_t>(n);
}

Symbols Symbols::of(const std::vector<std::string_view>& lines, Unit unit, int32_t first) {
  std::set<std::string, std::less<>> known;
  for (std::string_view line : lines)
    for (auto symbol = take_symbol(line, unit); !symbol.empty(); symbol = take_symbol(line, unit))
      if (!known.contains(symbol)) known.emplace(symbol);
  return {unit, {known.begin(), known.end()}, first};
}

Symbols Symbols::with(const Symbols& others) const {
  std::vector<std::string> known = known_;
  for (const std::string& symbol : others.known_)
    if (!token_of_.contains(symbol)) known.push_back(symbol);
  return {unit_, std::move(known), first_};
}

Symbols::Encoded Symbols::encode(std::string_view line, int64_t most) const {
  Encoded result;
  for (auto symbol = take_symbol(line, unit_); !symbol.empty(); symbol = take_symbol(line, unit_)) {
    auto token = token_of_.find(symbol);
    if (token == token_of_.end()) {
      result.unknown = symbol;
      return result;
    }
    if (result.count++ < most) result.tokens.push_back(token->second);
  }
  return result;
}

std::string Symbols::decode(const std::vector<int32_t>& tokens) const {
  std::vector<std::string> symbols;
  for (int32_t token : tokens)
    if (token >= first_) symbols.push_back(known_[static_cast<size_t>(token - first_)]);
  return join(symbols, unit_);
}

}  // namespace seq2seq
