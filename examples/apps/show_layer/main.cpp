// show_layer VARIANT [T M] works a layer through on a small case with whole numbers: it prints q,
// k, every term of the score, the mask, the probabilities and the output.

#include <charconv>
#include <iostream>

#include "core/errors.h"
#include "examples/apps/flags/program.h"
#include "text.h"
#include "worked_example.h"

namespace {

/// Returns the number that an argument says.
int64_t number(const char* name, const std::string& argument) {
  int64_t value = 0;
  const char* end = argument.data() + argument.size();
  auto [rest, error] = std::from_chars(argument.data(), end, value);
  shiftgrad::require(error == std::errc() && rest == end, name, ' ', argument,
                     ", expected a whole number up to 16");
  return value;
}

std::string footer() {
  std::string lines = "Layers, and forms of them:\n";
  for (const std::string& layer : show_layer::layers_to_show()) lines += "  " + layer + '\n';
  return lines +
         "After the colon stand keys of the layer's config, KEY=VALUE,KEY=VALUE. cross_attention "
         "is that of T target tokens to a source of M.";
}

}  // namespace

int main(int count, char** arguments) {
  apps::keep_standard_streams();
  shiftgrad::initialize();
  std::string layer, T = "3", M = "2";
  auto program = apps::make_program(
      "Work a layer through on a small case with whole numbers: q, k, every term of the score, the "
      "mask, the probabilities and the output, as tables. Parentheses mark what the mask hides.",
      "show_layer");
  apps::set_required(apps::add_argument(*program, "VARIANT", layer, "layer to show"));
  apps::add_argument(*program, "T", T, "number of new tokens, 1 to 16 (default: 3)");
  apps::add_argument(*program, "M", M, "number of remembered tokens, 0 to 16 (default: 2)");
  apps::set_footer(*program, footer());
  auto prepare = [&]() -> apps::Command::Work {
    int64_t new_tokens = number("T", T), remembered = number("M", M);
    std::string text = show_layer::text_of(
        show_layer::worked_example(layer, new_tokens, remembered), new_tokens, remembered);
    return [text] { std::cout << text; };
  };
  return apps::run_program(*program, {{program.get(), prepare}}, count, arguments);
}
