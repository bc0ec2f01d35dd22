#!/bin/sh
# Compares what the program $1, show_layer, prints of each layer with the numbers that the program $2,
# examples/book/study, gives to a page. Then asks it for what it cannot show.
set -eu
python3 "$(dirname "$0")/../examples/apps/show_layer/compare.py" "$1" "$2"

# refused STATUS-2 LINE ARGUMENT...
refused() {
  line=$1
  shift
  status=0
  said=$("$show_layer" "$@" 2>&1 > /dev/null) || status=$?
  [ "$status" = 2 ] && [ "$said" = "show_layer: $line" ] || { echo "$*: status $status: $said"; exit 1; }
}
show_layer=$1
refused 'attention: no such layer, did you mean multi_head_attention?' attention
refused 'lstm: no such layer; --help lists them' lstm
refused 'T many, expected a whole number up to 16' aft many
refused 'T 17, expected 1 to 16' aft 17
refused 'M -1, expected 0 to 16' aft 3 -- -1
refused 'aft: 5 tokens are beyond max_len 4' aft:max_len=4
refused '4: unexpected argument' aft 3 2 4
"$show_layer" --help | grep -q '^  transformer_xl_attention:positions=learned$' || { echo 'no list of layers'; exit 1; }
