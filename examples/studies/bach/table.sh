#!/bin/sh
# Trains models on Bach's chorales with three seeds each, scores them on the validation chorales, and prints a
# table in Markdown of nats per note.
#
#     examples/studies/bach/table.sh FOLDER [MODEL…]
#
# FOLDER has the train.txt and valid.txt of texts.py. The models are the configs in this folder, by default
# music_transformer and sinusoid. Runs stay in the folder bach; one that is there already is not trained again,
# so the script can be stopped at any time. CHAR_LM names the program. TRAINING has flags for all trainings,
# such as --max_iters 20000, and SCORING has flags for score.py, which says what counts. Minutes are those of
# all processors together, as the system counts them.
set -eu
here=$(dirname "$0")
char_lm=${CHAR_LM:-$here/../../../build/examples/apps/char_lm/char_lm}
place=bach
seeds='1 2 3'
models='music_transformer sinusoid'

. "$here/../arguments.sh"
[ $# -ge 1 ] || fail 'no folder, expected: table.sh FOLDER [MODEL…]'
texts=$1
shift
for name in train valid; do readable "$texts/$name.txt" 'texts.py writes it'; done
runnable CHAR_LM "$char_lm"
for model; do known model "$model" "$(cd "$here" && ls ./*.json | sed 's,^\./,,; s,\.json$,,')"; done

# trained MODEL: there is a run of this model for each seed, and a file with its seconds. What was begun is
# begun anew.
trained() {
  for seed in $seeds; do
    run=$place/$1-$seed
    [ ! -e "$run.done" ] || continue
    echo "training $run" >&2
    (
      "$char_lm" train --config "$here/$1.json" --data "$texts/train.txt" --val_data "$texts/valid.txt" \
        --seed "$seed" --out_dir "$run" --overwrite ${TRAINING:-} >&2
      times > "$run.times"
    )
    # The second line has the children's times: 1m2.5s 0m0.1s.
    sed -n '2s/[ms]/ /gp' "$run.times" | awk '{ print ($1 + $3) * 60 + $2 + $4 }' > "$run.seconds"
    mv "$run.seconds" "$run.done"
    rm "$run.times"
  done
}

# scored MODEL: its row of the table.
scored() {
  parameters=$("$char_lm" inspect "$place/$1-1" | awk '$1 == "total" { print $4 }')
  for seed in $seeds; do
    nats=$("$here/score.py" "$char_lm" "$place/$1-$seed" "$texts/valid.txt" ${SCORING:-})
    echo "$(cat "$place/$1-$seed.done") $nats"
  done | awk -v model="$1" -v parameters="$parameters" '
    { seconds += $1; sum += $2; squares += $2 * $2 }
    END {
      mean = sum / NR
      variance = (squares - NR * mean * mean) / (NR - 1)
      printf "| `%s` | %d | %.1f | %.3f | %.3f |\n", model, parameters, seconds / NR / 60, mean,
        sqrt((variance > 0) * variance)
    }'
}

mkdir -p "$place"
for model in ${*:-$models}; do trained "$model"; done
printf '| | parameters | minutes | nats per note | deviation |\n|---|---:|---:|---:|---:|\n'
for model in ${*:-$models}; do scored "$model"; done
cat << 'END'
| absolute positions (Huang et al. 2018) | | | 0.417 | |
| relative attention (Huang et al. 2018) | | | 0.357 | |
END
