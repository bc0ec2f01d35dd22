#!/bin/sh
# Compiles and runs each block of examples/COOKBOOK.md, in their order, with the build in the folder $1. The first C++
# block is a whole program, the second one what all others go on from. Programs outside are compiled as the page says,
# against the build as it would be installed. char_lm trains for a moment.
set -eu
page=$(realpath "$(dirname "$0")/../../examples/COOKBOOK.md")
project=$(dirname "$(dirname "$page")")
built=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
fail() {
  echo "FAILED: $*"
  exit 1
}

awk '/^```/ { inside = !inside && length($0) > 3; if (inside) file = sprintf("block%02d.%s", ++n, substr($0, 4)); next }
  inside { print > file }' "$page"
blocks=$(ls block*)
[ "$(echo "$blocks" | wc -l)" = "$(grep -c '^```[a-z]' "$page")" ] && [ "$(echo "$blocks" | wc -l)" -ge 15 ] ||
  fail "blocks: $blocks"

# The library as it is installed: its public headers, and links to what is built.
"$project/core/public_headers.sh" "$place/prefix/include" > /dev/null
libraries=$(sed -n 's/^libdir=${prefix}/prefix/p' "$built/meson-private/shiftgrad.pc")
mkdir -p "$libraries/pkgconfig"
cp "$built/meson-private/shiftgrad.pc" "$libraries/pkgconfig"
mkdir -p "$libraries/cmake/shiftgrad"
cp "$built/shiftgradConfig.cmake" "$libraries/cmake/shiftgrad"
sed -i "s|^prefix=.*|prefix=$place/prefix|" "$libraries/pkgconfig/shiftgrad.pc"
ln -s "$built"/libshiftgrad-*.so* "$libraries"
export PKG_CONFIG_PATH="$place/$libraries/pkgconfig" LD_LIBRARY_PATH="$place/$libraries"
# compile SOURCE PROGRAM: as the page says.
compile() {
  # shellcheck disable=SC2046
  ${CXX:-c++} -std=c++20 -O0 "$1" -o "$2" $(pkg-config --cflags --libs shiftgrad) > output 2>&1 || fail "$(cat output)"
}

set -- block*.cpp
cp "$1" program.cpp
compile program.cpp whole
[ "$(./whole)" = 10 ] || fail 'the first program'
shared=$2
shift 2
{
  printf '#include <shiftgrad/shiftgrad.h>\n\n#include <iostream>\n#include <map>\nusing namespace shiftgrad;\n'
  for block; do printf 'void %s() {\n' "${block%.cpp}" && cat "$shared" && echo '{' && cat "$block" && echo '} }'; done
  printf 'int main(int, char** names) try {\n  initialize();\n  std::string name = names[1];\n'
  for block; do printf '  if (name == "%s") %s();\n' "${block%.cpp}" "${block%.cpp}"; done
  printf '} catch (const std::exception& error) {\n  std::cerr << error.what() << std::endl;\n  return 1;\n}\n'
} > recipes.cpp
compile recipes.cpp recipes

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' | tee text.txt | tr 0-9 a-j > second.txt
# char_lm COMMAND FLAG...: trains a small model for a moment.
cat > char_lm << END
#!/bin/sh
command=\$1
shift
case \$command\$* in
  train*--init_from*) set -- "\$@" --max_iters 2 --eval_iters 1 ;;
  train*) set -- "\$@" --max_iters 2 --eval_iters 1 --n_layer 2 --n_embd 16 --n_head 2 --block_size 16 ;;
esac
exec "$built/examples/apps/char_lm/char_lm" "\$command" "\$@"
END
chmod +x char_lm
export PATH="$place:$PATH"
unset OPENBLAS_CORETYPE

skipped=
for block in $blocks; do
  case $block in
    block01.cpp | "$shared") ;;
    *.cpp) ./recipes "${block%.cpp}" > output 2>&1 || fail "$block: $(cat "$block" output)" ;;
    *.sh) sh -eu "$block" > output 2>&1 || fail "$block: $(cat "$block" output)" ;;
    *.python)
      if python3 -c 'import safetensors.torch' 2> /dev/null; then
        python3 "$block" > output 2>&1 || fail "$block: $(cat "$block" output)"
      else
        skipped='Python has no torch or no safetensors'
        cp out/best.safetensors edited.safetensors
      fi ;;
    *.cmake)
      if command -v cmake > /dev/null; then
        mkdir cmake
        cp "$block" cmake/CMakeLists.txt
        cp program.cpp cmake
        { cmake -S cmake -B cmake/build -DCMAKE_PREFIX_PATH="$place/prefix" && cmake --build cmake/build; } > output 2>&1 || fail "$(cat output)"
        [ "$(cmake/build/mine)" = 10 ] || fail 'the program of CMake'
      else
        skipped="${skipped:+$skipped; }cmake is not installed"
      fi ;;
    *) fail "nobody runs $block" ;;
  esac
done
[ -z "$skipped" ] || { echo "SKIPPED: $skipped"; exit 77; }
