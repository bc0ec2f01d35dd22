#!/bin/sh
# Programs that another compiler than the library's makes, with the shared and the static libraries in the build
# folder $1. The public headers run nothing at a program's start: what both compilers would initialise is destroyed by
# one while the other still reads it.
set -eu
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

echo '#include <shiftgrad/shiftgrad.h>' > "$place/headers.cpp"
# Tokens, a config that the headers describe, a refusal and a training: what goes both ways.
cat > "$place/program.cpp" << 'END'
#include <shiftgrad/shiftgrad.h>

#include <iostream>
using namespace shiftgrad;

int main() try {
  Random random{.seed = 1};
  LanguageModelConfig config{.vocab_size = 256, .d_model = 8, .n_layer = 1, .n_head = 2};
  config.d_inner = 8;
  config.mixer = TransformerXLAttentionConfig{};
  LanguageModel model(config, random);
  Trainer trainer(model, byte_tokens("a text of some bytes"), {},
                  {.batch_size = 2, .block_size = 4, .mem_len = 4, .max_iters = 2});
  trainer.run();
  config.n_layer = 0;
  LanguageModel none(config, random);
} catch (const std::exception& error) {
  std::cout << error.what() << '\n';
}
END

# What static libraries leave to the program.
behind=$(PKG_CONFIG_PATH=$build/meson-private pkg-config --static --libs-only-l shiftgrad | tr ' ' '\n' | grep -v shiftgrad)
found=0
for compiler in "${CXX:-c++}" g++ clang++; do
  command -v ${compiler%% *} > /dev/null || continue
  $compiler -std=c++20 -I "$root" -I "$root/.include" -c "$place/headers.cpp" -o "$place/headers.o"
  if nm "$place/headers.o" | grep -E '_GLOBAL__(sub_)?I|__cxx_global_var_init'; then
    echo "$compiler: a public header runs code at a program's start"
    exit 1
  fi
  $compiler -std=c++20 -I "$root" -I "$root/.include" -c "$place/program.cpp" -o "$place/program.o"
  for kind in so a; do
    # shellcheck disable=SC2086
    $compiler "$place/program.o" -o "$place/program" "$build/libshiftgrad-f32.$kind" "$build/libshiftgrad-core.$kind" \
      -Wl,-rpath,"$build" $behind
    printed=$("$place/program") || { echo "$compiler, .$kind: the program failed: $printed"; exit 1; }
    [ "$printed" = 'language_model: n_layer 0, expected at least 1' ] ||
      { echo "$compiler, .$kind: printed '$printed'"; exit 1; }
  done
  found=$((found + 1))
done
[ "$found" -ge 2 ] || { echo 'no second compiler: install g++ and clang++'; exit 77; }
