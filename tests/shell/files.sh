#!/bin/sh
# Gives files that save(), char_lm, seq2seq and others wrote to programs that read files: char_lm, seq2seq
# and own_model are $1, $2 and $3. What a file has decides what can be done with it, and a refusal says
# what the file has, what was needed, and what reads it.
seq2seq=$(realpath "$2")
own_model=$(realpath "$3")
tests=$(realpath "$(dirname "$0")/..")
report_reader=$tests/examples/apps/runs/read_report.py
. "$(dirname "$0")/char_lm_checks.sh"


awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
tiny='--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --max_iters 2 --warmup_iters 1 --eval_interval 2'
# shellcheck disable=SC2086
runs train --data text --block_size 8 --log_interval 1 --out_dir run $tiny
# shellcheck disable=SC2086
"$seq2seq" train $tiny --out_dir pairs > output || fail "seq2seq: $(cat output)"
mkdir own
"$own_model" own/model.safetensors > output || fail "own_model: $(cat output)"

# --- inspect reads all of them.
runs inspect own/model.safetensors
prints '^has  +weights, config, run, state to resume from$'
prints '^step  +300$'
prints '^attention.qkv.weight  +\[144, 48\]  +F32  +6912  +-?[0-9.e-]+  +[0-9.]+  +[0-9.]+$'
prints '^  type     tiny$'
runs inspect own
prints '^own/model.safetensors$'
runs inspect pairs
prints '^has  +weights, config, symbols, run$'
prints '^validation loss  [0-9.]+ nats = [0-9.]+ bits per token$'
prints '^  source_tokens +characters$'
runs inspect run/last.safetensors
prints '^has  +weights, config, vocabulary, run, state to resume from$'
# Tensors alone, of types that are no floats, with a name that is a command to a terminal.
# Integers count in the total.
python3 - << 'END'
import json, struct
tensors = {"count": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
           "\x1b[2J": {"dtype": "F64", "shape": [], "data_offsets": [16, 24]}}
header = json.dumps(tensors).encode()
data = struct.pack("<qqd", 1, 2, 0.5)
open("tensors.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + data)
END
runs inspect tensors.safetensors
prints '^has  +weights$'
prints '^count  +\[2\]  +I64  +2  +1.5  +0.5  +2.236$'
prints '^.x1B\[2J  +\[\]  +F64  +1  +0.5  +0  +0.5$'
prints '^total  +2 tensors  +3  +1.167  +0.6236  +2.291$'
# Each type of the format, one that it does not have yet, more axes than a tensor of ours can have,
# a tensor without values, and metadata of null.
python3 - << 'END'
import json, struct
types = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
         "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
         "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64, "I3": 3}
header, data = {"__metadata__": None}, b""
def add(name, dtype, shape, values):
    global data
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
for name, bits in types.items():
    add("of " + name, name, [2, 4], b"\1" * bits)
add("empty", "F32", [0, 3], b"")
add("long", "U8", [1] * 9 + [2], b"\3\5")
add("half", "F16", [2], struct.pack("<2e", -1.5, 2.5))
add("counts", "I64", [3], struct.pack("<3q", 10**9, 10**9 + 1, 10**9 + 2))
add("none", "F64", [1], struct.pack("<Q", 0xfff8 << 48))
text = json.dumps(header).encode()
open("types.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
END
runs inspect types.safetensors
for type in F4 F6_E2M3 F6_E3M2 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ C64 I3; do
  prints "^of $type  +\[2, 4\]  +$type  +8  +$"
done
for type in BOOL U8 I8; do
  prints "^of $type  +\[2, 4\]  +$type  +8  +1  +0  +2.828$"
done
for type in I16 U16 F16 BF16 I32 U32 F32 F64 I64 U64; do
  prints "^of $type  +\[2, 4\]  +$type  +8  +[0-9.e+-]+  +0  +[0-9.e+-]+$"
done
prints '^empty  +\[0, 3\]  +F32  +0  +0$'
prints '^long  +\[1, 1, 1, 1, 1, 1, 1, 1, 1, 2\]  +U8  +2  +4  +1  +5.831$'
prints '^half  +\[2\]  +F16  +2  +0.5  +2  +2.915$'
prints '^counts  +\[3\]  +I64  +3  +1e\+09  +0.8165  +1.732e\+09$'
prints '^none  +\[1\]  +F64  +1  +nan  +nan  +nan$'
prints '^total  +28 tensors  +192  +$'
grep -q -e -nan output && fail "a nan with a sign: $(cat output)"
# A file is read in time with its size, whatever it has many of: a megabyte each of axes, of tensors, of keys and of
# objects, and beside many tensors a long name and a long shape. No total is beyond what a number holds.
python3 - << 'END'
import json, struct
def write(path, tensors, data):
    header = json.dumps(tensors).encode()
    open(path, "wb").write(struct.pack("<Q", len(header)) + header + data)
def one(shape, begin, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [4 * begin, 4 * begin + 4]}
def own(config):
    return {"__metadata__": {"format": "shiftgrad-model-1", "step": "1", "model": json.dumps(config)}, "w": one([1], 0)}
write("axes.large", {"w": one([1] * 300_000, 0)}, bytes(4))
many = {f"t{n}": one([1], n) for n in range(15_000)}
write("tensors.large", many, bytes(60_000))
few = {f"t{n}": one([1], n) for n in range(5_000)}
write("wide.large", few | {"n" * 300_000: one([1], 5_000), "w": one([1] * 150_000, 5_001)}, bytes(20_008))
write("keys.large", own({f"k{n}": n for n in range(70_000)}), bytes(4))
write("objects.large", own({"list": [{"a": 1}] * 100_000}), bytes(4))
write("nested.large", own({"k" * 500_000: {f"k{n}": n for n in range(30_000)}}), bytes(4))
write("most.large", {"a": one([2 ** 62], 0, "I3"), "b": one([2 ** 62], 1, "I3")}, bytes(8))
END
for file in *.large; do
  bounded "$char_lm" inspect "$file" > output 2> errors || fail "inspect $file: $(cat errors)"
done
bounded "$char_lm" inspect most.large > output
prints '^a  +\[4611686018427387904\]  +I3  +4611686018427387904 +$'
prints '^total  +2 tensors +$'
bounded "$char_lm" report keys.large --out large.html > output 2> errors ||
  grep -q 'the report would have' errors || fail "report: $(cat errors)"
bounded "$char_lm" inspect axes.large > output
[ "$(wc -c < output)" -lt 10000 ] || fail "a shape of $(wc -c < output) bytes"

# It says what a checkpoint lacks as the other commands do.
python3 - << 'END'
import json, struct
data = open("run/last.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
for name, before, after in [("other", b'"embedding.weight"', b'"embedding.heavy!"'),
                            ("shape", b'"shape":[48,16]', b'"shape":[16,48]'),
                            ("type", b'"dtype":"F32"', b'"dtype":"I32"')]:
    changed = data[8:8 + size].replace(before, after)
    assert changed != data[8:8 + size], name
    open(name + ".safetensors", "wb").write(data[:8] + changed + data[8 + size:])
END
refuses 'other.safetensors: missing tensors "embedding.weight"; unexpected tensors "embedding.heavy!"' \
  inspect other.safetensors
refuses 'shape.safetensors: tensor "blocks.0.mixer.qkv.weight": [16, 48], expected [48, 16]' \
  inspect shape.safetensors
refuses 'type.safetensors: tensor "embedding.weight": I32, expected F32' inspect type.safetensors

# Weights of other floats are read as F32. Those of types that no weights of ours have are refused.
for type in F16 F64; do
  python3 "$tests/support/with_dtype.py" pairs/best.safetensors "pairs-$type.safetensors" $type
  "$seq2seq" eval "pairs-$type.safetensors" --beam 1 > "output-$type" 2> errors || fail "$type: $(cat errors)"
done
python3 "$tests/support/with_dtype.py" pairs/best.safetensors "pairs-F8_E4M3.safetensors" F8_E4M3
python3 "$tests/support/with_dtype.py" run/best.safetensors "run-F8_E4M3.safetensors" F8_E4M3
refuses 'run-F8_E4M3.safetensors: tensor ' eval run-F8_E4M3.safetensors --data text
refuses 'F8_E4M3, expected F32' eval run-F8_E4M3.safetensors --data text

# --- report gives what can be given.
runs report run own --tokens 20
python3 "$report_reader" report.html runs=run,own nothing=5 attention=1 training sample distances context ||
  fail 'the report of run and own'
# A LanguageModel's file says what it has learned about distances, too.
python3 "$tests/support/without_vocabulary.py" run/best.safetensors language_model.safetensors
runs report run language_model.safetensors --tokens 20
python3 "$report_reader" report.html runs=run,language_model nothing=4 distances ||
  fail 'the report of a LanguageModel that save() wrote'
# A curve of losses, if the program writes one beside its file.
printf '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 1.5, "validation_loss": 2}\n' > own/metrics.jsonl
runs report own/model.safetensors
python3 "$report_reader" report.html runs=model nothing=4 training || fail 'the report of own'
runs plot own
prints '^wrote loss.svg$|^wrote own/'

# --- Each refusal names what the file has, what was needed, and what reads it.
has_own="own/model.safetensors: has a model's weights, config and run, but no vocabulary (shiftgrad-model-1); "
has_own="${has_own}read it with load() or char_lm inspect and report, expected the format"
char_lm_needs="shiftgrad-1: a language model's weights, config, vocabulary and run"
for command in generate eval positions context 'attention --text line' 'convert --to aft_full --out_dir new' \
  'train --data text --out_dir new --init_from'; do
  # shellcheck disable=SC2086
  refuses "$has_own $char_lm_needs" $command own/model.safetensors
done
has_pairs="pairs/best.safetensors: has an encoder-decoder's weights, config, symbols and run "
has_pairs="$has_pairs(shiftgrad-seq2seq-1); read it with seq2seq or char_lm inspect, expected the format"
refuses "$has_pairs $char_lm_needs" generate pairs
refuses "$has_pairs $char_lm_needs" report pairs
refuses 'tensors.safetensors: names no format; read it with char_lm inspect' report tensors.safetensors
refuses 'text: not a safetensors file' generate text
# refused TEXT COMMAND...: by another program than char_lm.
refused() {
  expected=$1
  shift
  "$@" > output 2> errors && fail "status 0 of: $*"
  grep -qF -- "$expected" errors || fail "no '$expected' in: $(cat errors)"
}
refused "$has_own shiftgrad-seq2seq-1: an encoder-decoder's weights" "$seq2seq" eval own/model.safetensors
refused 'run/best.safetensors: a model of the config' "$own_model" run/best.safetensors
refused '; read it with make_model(read_checkpoint(path), path)' "$own_model" run/best.safetensors
refused "$has_pairs shiftgrad-model-1: a model's weights" "$own_model" pairs/best.safetensors

[ "$failures" = 0 ]
