#!/bin/sh
# Trains models with char_lm, the program $1, and loads them into PyTorch with the example's script.
# Skipped where Python has no PyTorch or no safetensors.
python3 -c 'import safetensors.torch' 2> /dev/null ||
  { echo 'SKIPPED: Python has no torch or no safetensors'; exit 77; }
script=$(realpath "$(dirname "$0")/../../examples/python/load_in_pytorch.py")
. "$(dirname "$0")/char_lm_checks.sh"

awk 'BEGIN { for (n = 0; n < 300; n++) print "line " n * n % 100 }' > text
while read -r name model; do
  runs train --data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 32 --batch_size 8 \
    --learning_rate 1e-2 --warmup_iters 2 --max_iters 20 --eval_interval 20 --out_dir "$name" \
    --model $model
  python3 "$script" "$char_lm" "$name" text > output 2>&1 || fail "$name: $(cat output)"
  prints 'nats each in PyTorch'
done << 'END'
learned transformer
sinusoid transformer --position sinusoid --tie_embedding false
transformer_xl transformer_xl
tied transformer_xl --tie_position_biases true --embedding_scale true
END
python3 "$script" "$char_lm" transformer_xl missing > output 2>&1 && fail 'a missing text was read'

runs train --data text --n_layer 1 --n_head 1 --n_embd 8 --max_iters 1 --out_dir labml --model labml
python3 "$script" "$char_lm" labml text > output 2>&1 && fail 'labml was taken for something else'
prints 'load_in_pytorch: relative_multi_head_attention is not supported'

[ "$failures" = 0 ]
