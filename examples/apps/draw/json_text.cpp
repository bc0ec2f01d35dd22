#include "json_text.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "finite.h"
#include "utf8.h"

namespace apps {

namespace {

constexpr int32_t first_byte = 0x10F700;

bool stands_for_byte(const Utf8& character) {
  return character.kind == Utf8::Kind::whole && first_byte + 0x80 <= character.code &&
         character.code <= first_byte + 0xFF;
}

/// Joins what `part` returns for each character, or for each piece that is none.
template <class Part>
std::string joined(std::string_view text, Part part) {
  std::string result;
  while (!text.empty()) {
    Utf8 character = read_utf8(text);
    result += part(character, text.substr(0, character.length));
    text.remove_prefix(character.length);
  }
  return result;
}

std::string stray_bytes_escaped(std::string_view bytes) {
  std::string result;
  for (char byte : bytes) result += to_utf8(first_byte + static_cast<unsigned char>(byte));
  return result;
}

/// Makes everything in a figure what JSON can hold.
void prepare(nlohmann::json& value) {
  if (value.is_string()) value = utf8_of(value.get_ref<const std::string&>());
  if (value.is_number_float()) finite(value.get<double>(), "a number of the figure");
  if (value.is_structured())
    for (nlohmann::json& part : value) prepare(part);
}

}  // namespace

std::string utf8_of(std::string_view bytes) {
  return joined(bytes, [](const Utf8& character, std::string_view piece) {
    bool stays = character.kind == Utf8::Kind::whole && !stands_for_byte(character);
    return stays ? std::string(piece) : stray_bytes_escaped(piece);
  });
}

std::string bytes_of(std::string_view utf8) {
  return joined(utf8, [](const Utf8& character, std::string_view piece) {
    return stands_for_byte(character)
               ? std::string(1, static_cast<char>(character.code - first_byte))
               : std::string(piece);
  });
}

void print_json(nlohmann::json figure) {
  prepare(figure);
  std::cout << figure.dump() + '\n' << std::flush;
}

}  // namespace apps
