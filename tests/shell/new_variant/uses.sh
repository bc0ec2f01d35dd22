#!/bin/sh
# Uses the new variant in char_lm, the program $1, and in show_layer, the program $2.
show_layer=$(realpath "$2")
. "$(dirname "$0")/../char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 400; n++) print "line " n * n % 100 }' > text
tiny="--data text --model forgetting --window 6 --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4
  --warmup_iters 2 --lr_decay_iters 40 --eval_interval 10 --eval_iters 2 --learning_rate 1e-2 --dropout 0.1"

# It is trained, learns, and goes on after a stop with the same bits.
runs train $tiny --max_iters 40 --out_dir run
mv run whole
losses=$(sed -n 's/.*"train_loss":\([0-9.]*\).*/\1/p' whole/metrics.jsonl)
echo $losses | awk '{ exit !(NF > 2 && $NF < 0.8 * $1) }' || fail "it does not learn: $losses"
runs train $tiny --max_iters 20 --out_dir run
runs train --resume --max_iters 40 --out_dir run
cmp -s whole/last.safetensors run/last.safetensors || fail 'resumed, it has other bits'

# Its config is JSON in the file, and is read from there.
python3 - << 'END' || fail 'its JSON'
import json, struct
file = open("whole/last.safetensors", "rb").read()
metadata = json.loads(file[8:8 + struct.unpack("<Q", file[:8])[0]])["__metadata__"]
assert json.loads(metadata["model"])["mixer"] == {"type": "forgetting_attention", "window": 6}, metadata["model"]
END
runs eval whole
prints '^[0-9]\.[0-9]{3} bits per character$'
runs eval whole --mode memory --mem_len 5 --losses of-whole
runs generate whole --prompt 'line ' --length 30
[ "$(wc -c < output)" = 36 ] || fail "generate: $(cat output)"

# It is compared, drawn, and converted to what computes the same.
runs compare --data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --max_iters 2 --seeds 1 --length 9 \
  forgetting forgetting:window=3
prints '^\| forgetting:window=3 \|'
runs positions whole --json
python3 - << 'END' || fail "its distances: $(cat output)"
import json
layers = json.load(open("output"))["layers"]
assert [[table["title"] for table in layer] for layer in layers] == 2 * [["bias s / √D"]], layers
for layer in layers:
    for head in layer[0]["heads"]:
        assert head[0] == 0 and head[1] != 0
        assert all(abs(s - delta * head[1]) < 1e-4 for delta, s in enumerate(head)), head
END
runs positions whole
runs attention whole --text 'line'
runs convert whole --to transformer_xl --out_dir xl
runs eval xl --mode memory --mem_len 5 --losses of-xl
paste of-whole of-xl | awk '{ d = $1 - $2 } d * d > 3e-11 || NF != 2 { exit 1 }' || fail 'converted, it scores otherwise'

# It is worked through, as one of the layers that are listed.
"$show_layer" --help | grep -qx '  forgetting_attention' || fail 'show_layer does not list it'
"$show_layer" forgetting_attention 3 2 > output 2> errors || fail "show_layer: $(cat errors)"
prints '^score = \(q·k \+ s\) / √D,'
prints '^s by distance  \[1, 5\]'

[ "$failures" = 0 ]
