#!/bin/sh
# Looks at what the compiler made of the programs that the arguments name: functions watch over their stacks, and all
# addresses are bound when a program starts.
set -eu
command -v readelf > /dev/null || { echo 'no readelf'; exit 77; }
for program; do
  readelf --wide --dyn-syms "$program" | grep -q ' __stack_chk_' || { echo "$program: no stack protector"; exit 1; }
  readelf --wide --dynamic "$program" | grep -q 'FLAGS.*BIND_NOW' || { echo "$program: addresses are bound late"; exit 1; }
done
