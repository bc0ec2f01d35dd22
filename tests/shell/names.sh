#!/bin/sh
# Gives char_lm, seq2seq and show_layer, the programs $1 to $3, names and texts of any bytes: files, folders and
# characters that are not UTF-8, links to nothing, and - for a file.
seq2seq=$(realpath "$2")
show_layer=$(realpath "$3")
. "$(dirname "$0")/char_lm_checks.sh"

tiny='--n_layer 1 --n_head 2 --n_embd 8 --batch_size 2 --block_size 4 --warmup_iters 1 --max_iters 2
  --eval_interval 2'
awk 'BEGIN { for (n = 0; n < 40; n++) print "café " n * n % 100 }' > text
name=$(printf 'g\351n.txt')
folder=$(printf 'r\351n')
cp text "$name"

# --- What is no UTF-8 is trained on, resumed, found again and drawn.

runs train $tiny --data "$name" --val_data "$name" --out_dir "$folder"
runs train --resume --out_dir "$folder" --max_iters 3
runs train --resume --out_dir "$folder" --data "$name" --max_iters 4
runs eval "$folder"
runs train --init_from "$folder" --data "$name" --batch_size 2 --max_iters 0 --out_dir tuned
runs inspect "$folder"
prints '^  data +.*/g\\xE9n\.txt$'
prints '^  out_dir +r\\xE9n$'
runs report "$folder" --tokens 4 --out report.html
grep -q 'g\\xE9n.txt' report.html || fail 'the report does not name the text'
mv "$folder" moved
runs eval moved
mv moved "$folder"
echo '{"data": "text", "batch_size": 2}' > "$folder/flags"
runs train $(without batch_size $tiny) --config "$folder/flags" --out_dir configured

# The file has UTF-8, and what reads it gets the bytes of the name back.
python3 - "$folder/last.safetensors" "$name" << 'END' || fail 'the name in the checkpoint'
import json, os, struct, sys
content = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", content[:8])
flags = json.loads(json.loads(content[8 : 8 + length].decode())["__metadata__"]["training"])
name = b"".join(
    bytes([ord(c) - 0x10F700]) if 0x10F780 <= ord(c) <= 0x10F7FF else c.encode() for c in flags["data"])
assert os.path.basename(name) == os.fsencode(sys.argv[2]), name
assert os.path.samefile(name, os.fsencode(sys.argv[2]))
END

# --- JSON is whole, and has every byte.

# is_json FIGURE: one line of JSON with this text in it.
is_json() {
  python3 - "$1" << 'END' || fail "no JSON with $1: $(cat output)"
import json, sys
(line,) = open("output", "rb").read().decode().splitlines()
assert sys.argv[1] in json.dumps(json.loads(line), ensure_ascii=False), line
END
}
runs attention "$folder" --text café --json
is_json "[\"c\", \"a\", \"f\", \"$(printf '\364\217\237\203')\", \"$(printf '\364\217\236\251')\"]"
runs plot "$folder" tuned/../configured --json
is_json "r$(printf '\364\217\237\251')n"
runs context "$folder" --json --tokens 2 --lengths 1,2
is_json "r$(printf '\364\217\237\251')n"
runs positions "$folder" --json
is_json '"trained"'

awk 'BEGIN { for (n = 0; n < 60; n++) print n "\t" n * n }' > "$folder/pairs"
own=$char_lm
char_lm=$seq2seq
pairs='--n_layer 1 --n_head 2 --n_embd 8 --batch_size 2 --max_len 20 --warmup_iters 1 --max_iters 2 --eval_interval 2'
runs train $pairs --data "$folder/pairs" --out_dir "$folder/out"
runs train --resume --out_dir "$folder/out" --max_iters 3
runs eval "$folder/out"
refuses '--data -, expected the name of a file; standard input is not read here' \
  train $pairs --data - --out_dir new
refuses '--data: given 2 times, expected one value' train $pairs --data text --data "$name"
runs train --help
prints '^  --skip_bad_rows \[BOOL\]=false$'
char_lm=$own
status=0
"$show_layer" "$(printf 'multi_head_attention:\351=1')" > output 2> errors || status=$?
[ "$status" = 2 ] && [ "$(wc -l < errors)" = 1 ] || fail "show_layer: $status $(cat errors)"
grep -qF 'unknown config key' errors || fail "show_layer: $(cat errors)"
"$show_layer" "$(printf 'aft:form=\351')" > output 2> errors && fail 'show_layer takes any form'
grep -q 'json\|type_error' errors && fail "words of a library: $(cat errors)"

# --- What is refused leaves no folder.

printf 'short' > short
refuses 'short: ' train --data short --out_dir new/sub
mkdir kept
refuses 'short: ' train --data short --out_dir kept
[ -d kept ] || fail 'a folder that was there is gone'
# The training's first file cannot be written.
(ulimit -f 0; trap '' XFSZ; "$char_lm" train $tiny --data text --out_dir new/sub > /dev/full 2> errors) &&
  fail 'a training without files'
[ ! -e new ] || fail "an empty folder: $(find new)"
refuses 'aft: --parameters 1 is too few' compare $tiny --data text aft --parameters 1 --out_dir new
[ ! -e new ] || fail 'an empty folder of a comparison'
ln -s nowhere link
refuses '--out_dir link: a symbolic link to a folder that does not exist' train $tiny --data text --out_dir link
refuses '--out_dir text: a file, expected a folder' train $tiny --data text --out_dir text
refuses '--out_dir : expected the name of a folder' train $tiny --data text --out_dir ''

# --- A dash is no file, but for the one that says so.

for flag in data val_data config; do
  refuses "--$flag -, expected the name of a file; standard input is not read here" train $tiny --$flag -
done
refuses '--data -, expected the name of a file' eval "$folder" --data - < text
refuses '--losses -, expected the name of a file' eval "$folder" --losses -
echo '{"data": "-"}' > flags.json
refuses 'flags.json: training flag "data" is "-", expected the name of a file' train --config flags.json
printf 'caf' > prompt
runs generate "$folder" --prompt_file prompt --length 1
"$char_lm" generate "$folder" --prompt_file - --length 1 < prompt > output || fail 'a prompt through a pipe'
cp text ./-
runs train $tiny --data ./- --out_dir dashed

# --- A picture that cannot be written says why, before anything is drawn.

chmod 755 "$place"
mkdir closed
chmod 555 closed
as=''
if [ "$(id -u)" = 0 ]; then
  command -v setpriv > /dev/null && as='setpriv --reuid=65534 --clear-groups' || as=none
fi
if [ "$as" != none ]; then
  chmod -R a+rX .
  for command in "report $folder" "plot $folder" "attention $folder --text café" "positions $folder" \
    "context $folder --tokens 2"; do
    status=0
    # shellcheck disable=SC2086
    $as "$char_lm" $command --out closed/picture > said 2>&1 || status=$?
    expected="${char_lm##*/}: --out closed/picture: its folder cannot be written: Permission denied"
    [ "$status: $(cat said)" = "2: $expected" ] || fail "$command: $status: $(cat said)"
  done
fi
refuses '--out no/picture: there is no folder no' plot "$folder" --out no/picture
refuses "--out $(printf '%0300d' 0)/x: File name too long" plot "$folder" --out "$(printf '%0300d' 0)/x"

# --- Many lines end with CR LF, which a terminal shows as ends of lines.

if script -qec true /dev/null > /dev/null 2>&1; then
  sed 's/$/\r/' text > crlf
  runs train $tiny --data crlf --out_dir crlf_run
  printf 'café 1\r\ncafé 4\r\n' > prompt
  echo "'$char_lm' generate crlf_run --prompt_file prompt --length 0" > command
  script -qec 'sh command 2> errors' /dev/null < /dev/null | tr -d '\r' > seen
  printf 'café 1\ncafé 4\n\n' | cmp - seen || fail "on a terminal: $(cat -v seen)"
  runs generate crlf_run --prompt_file prompt --length 0
  { cat prompt; echo; } | cmp - output || fail "through a pipe: $(cat -v output)"
fi

[ "$failures" = 0 ]
