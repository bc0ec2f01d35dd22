#include "utf8.h"

#include <algorithm>
#include <utility>

namespace apps {

namespace {

/// Returns how many bytes at the end of the text may be the start of an incomplete character.
size_t cut_at_end(std::string_view text) {
  for (size_t length = std::min<size_t>(3, text.size()); length > 0; --length) {
    Utf8 end = read_utf8(text.substr(text.size() - length));
    if (end.kind == Utf8::Kind::cut && end.length == length) return length;
  }
  return 0;
}

}  // namespace

void drop_byte_order_mark(std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
}

std::string WholeCharacters::add(std::string_view piece) {
  held_.append(piece);
  std::string whole = held_.substr(0, held_.size() - cut_at_end(held_));
  held_.erase(0, whole.size());
  return whole;
}

std::string WholeCharacters::rest() { return std::exchange(held_, {}); }

}  // namespace apps
