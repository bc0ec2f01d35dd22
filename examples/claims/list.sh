# What the words of a claim mean for --list: its trainings are gathered as for a report, and counted.

. "$here/claims/plan.sh"

# scored: the scores of the claim, a line for each seed: its name, the word "score", the measure and its flags.
scored() {
  seeded | while read -r run rest; do
    echo "$scores" | awk -v run="$run" -v name="${run%-*}" '$3 == name { $1 = $3 = ""; print run, "score", $0 }'
  done
}

# cost: how many trainings are in standard input, and the processor time of these and of the scores there, as far as
# programs and flags tell it. On one core of Zen 5, 600 steps of char_lm with four layers of 64 channels take some 11
# seconds, a training of the other programs as long, an effective context a minute, and another score a second.
cost() {
  awk '$2 == "score" { sum += $3 == "recl" ? 60 : 1; next }
  {
    trainings++
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
  } END { printf "%d trainings, about %.0f min of one core", trainings, sum / 60 + 0.5 }'
}

verdict() {
  echo "$claim: $title"
  echo "    $({ seeded; scored; } | tee -a "$PLACE/plan" | cost), decided by: $decision"
}

finish() { echo "all: $(sort -u "$PLACE/plan" | cost), since claims share some"; }
