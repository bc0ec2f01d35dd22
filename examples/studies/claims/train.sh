#!/bin/sh
# train.sh RUN PROGRAM FLAG…: makes one run, unless it is there with these flags, and says how far all are.
set -eu
run=$PLACE/$1
program=$2
shift 2
planned="$program $*"
# Of a flag that is there twice, the last value counts; all have one.
once() {
  echo "$*" | awk '{
    for (n = 1; n < NF; n += 2) {
      if (!($n in value)) order[++count] = $n
      value[$n] = $(n + 1)
    }
    for (n = 1; n <= count; n++) print order[n], value[order[n]]
  }'
}
# shellcheck disable=SC2046
set -- $(once --threads 1 "$@")
if [ ! -e "$run.done" ] || [ "$(cat "$run.done")" != "$planned" ]; then
  rm -rf "$run.done" "$PLACE/scores/$(basename "$run")":* "$PLACE/scores/losses-$(basename "$run")"
  case $program in
    char_lm) "$CHAR_LM" train --out_dir "$run" --overwrite "$@" ;;
    seq2seq) "$SEQ2SEQ" train --out_dir "$run" --overwrite "$@" ;;
    restarted) "$RESTARTED" "$@" ;;
    convolution) "$CONVOLUTION" "$@" ;;
  esac > "$run.log" 2>&1 || {
    echo "claims.sh: $run failed: $(tail -n 1 "$run.log")" >&2
    exit 255
  }
  # The processor time of the program, in seconds: user and system, as "0m1.230s 0m0.010s".
  # A pipe would ask a shell without children.
  times > "$run.times"
  awk 'NR == 2 { gsub(/m/, " "); gsub(/s/, ""); print 60 * ($1 + $3) + $2 + $4 }' "$run.times" > "$run.seconds"
  echo "$planned" > "$run.done"
  trained=1
fi

[ "${trained:-0}" = 1 ] || exit 0
# A bar of 20 characters, and the time left if the rest takes as long as what was made since the start.
all=$(wc -l < "$PLACE/plan")
ready=$(cut -d ' ' -f 1 "$PLACE/plan" | while read -r name; do [ ! -e "$PLACE/$name.done" ] || echo; done | wc -l)
now=$(find "$PLACE" -maxdepth 1 -name '*.done' -newer "$PLACE/started" | wc -l)
awk -v all="$all" -v ready="$ready" -v now="$now" -v run="$run" -v begun="$(cat "$PLACE/started")" \
  -v time="$(date +%s)" 'BEGIN {
    for (n = 1; n <= 20; n++) bar = bar (n <= 20 * ready / all ? "#" : ".")
    left = now ? int((time - begun) / now * (all - ready) / 60 + 0.5) : 0
    printf "[%s] %d of %d trainings, about %d min left: %s\n", bar, ready, all, left, run
  }' >&2
