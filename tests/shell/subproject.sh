#!/bin/sh
# Uses the sources as a stranger would who has them in his own project's subprojects/: configures the
# project in outside/, whose op and mixer are its own, builds and runs it. The library's objects would
# be those in the folder $1 once more, and take minutes: only some are compiled, one for each package
# that they need, and the libraries in $1 are linked.
set -eu
tests=$(cd "$(dirname "$0")/.." && pwd)
built=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cp -r "$tests/shell/outside" "$place/project"
mkdir "$place/project/subprojects"
ln -s "$tests/.." "$place/project/subprojects/shiftgrad"
cd "$place/project"
# The wrap file of the cookbook, by which the package of doubles is found, too. The folder is there, so none is fetched.
sed -n '/^    \[wrap-git\]$/,/^$/s/^    //p' "$tests/../examples/COOKBOOK.md" > subprojects/shiftgrad.wrap
grep -q '^dependency_names = shiftgrad, shiftgrad-f64$' subprojects/shiftgrad.wrap ||
  { echo "the cookbook's wrap file is $(cat subprojects/shiftgrad.wrap)"; exit 1; }
sed -i "s/^foreach package : .*/foreach package : ['shiftgrad-f64', 'shiftgrad']/" meson.build
# Nothing that is installed on this machine is taken for it.
meson setup build --wrap-mode=forcefallback -Dbuildtype=plain
# Its host installs nothing of it but shared libraries, which programs were linked with.
meson introspect build --installed | tr ',{}' '\n\n\n' | grep -v '^ *$' | grep -v '/libshiftgrad-[a-z0-9]*\.so' > "$place/installed" || true
if grep -q shiftgrad "$place/installed"; then echo "the host installs $(cat "$place/installed")"; exit 1; fi
ninja -C build -t targets all > "$place/targets"
objects=$(sed -n 's/:.*//; /extension-shiftgrad\.p\/.*\.o$/p
  /\/libshiftgrad-\(core\|f32\)\.a\.p\/.*unity0\.cpp\.o$/p; /alone-f32\.a\.p\/core_machine_simd\.cpp\.o$/p' "$place/targets")
[ "$(echo "$objects" | wc -l)" = 6 ] || { echo "objects of the host and the library: $objects"; exit 1; }
# The host's own are linked. Of the library's, the compiler sees that they compile, and makes nothing of them.
# shellcheck disable=SC2086
ninja -C build $(echo "$objects" | grep extension)
for object in $(echo "$objects" | grep -v extension); do
  precompiled=$(ninja -C build -t inputs "$object" | grep '\.[gp]ch$' || true)
  # shellcheck disable=SC2086
  [ -z "$precompiled" ] || ninja -C build $precompiled
  command=$(ninja -C build -t commands -s "$object")
  (cd build && eval "$command -fsyntax-only")
done
# The host finds the library's headers by shiftgrad/ alone.
ninja -C build -t commands extension-shiftgrad > "$place/commands"
folders=$(grep 'extension\.cpp\.o' "$place/commands" | tr ' ' '\n' | sed -n 's/^-I//p')
echo "$folders" | grep -q '^subprojects/shiftgrad/include$' || { echo "the host looks in $folders"; exit 1; }
for folder in $folders; do
  [ ! -e "build/$folder/core/tensor.h" ] || { echo "the host sees $folder/core"; exit 1; }
done
for library in "$built"/libshiftgrad-*.so; do
  cp "$(realpath "$library")" build/subprojects/shiftgrad/
done
cd build
eval "$(ninja -t commands extension-shiftgrad | tail -n 1)"
./extension-shiftgrad
[ ! -e subprojects/shiftgrad/examples ] || { echo 'the examples were configured too'; exit 1; }
