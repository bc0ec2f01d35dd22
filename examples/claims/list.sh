# What the words of a claim mean for --list: its trainings are gathered as for a report, and counted.

. "$here/claims/plan.sh"

# minutes: the processor time of the trainings in standard input, as far as programs and flags tell it. On one core
# of Zen 5, 600 steps of char_lm with four layers of 64 channels take some 11 seconds, and a training of the other
# programs as long.
minutes() {
  awk '{
    seconds = 11
    for (n = 3; n < NF; n++) {
      if ($2 != "char_lm") continue
      if ($n == "--n_layer") layers[NR] = $(n + 1) / 4
      if ($n == "--n_embd") channels[NR] = $(n + 1) / 64
      if ($n == "--max_iters") steps[NR] = $(n + 1) / 600
    }
    if (NR in layers) seconds *= layers[NR]
    if (NR in channels) seconds *= channels[NR]
    if (NR in steps) seconds *= steps[NR]
    sum += seconds
  } END { printf "%.0f min", sum / 60 + 0.5 }'
}

verdict() {
  seeded >> "$PLACE/plan"
  echo "$claim: $title"
  echo "    $(seeded | wc -l) trainings, about $(seeded | minutes) of one core, decided by: $decision"
}

finish() {
  sort -u -o "$PLACE/plan" "$PLACE/plan"
  echo "all: $(wc -l < "$PLACE/plan") trainings, about $(minutes < "$PLACE/plan") of one core, since claims share some"
}
