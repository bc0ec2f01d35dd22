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

begin() {
  : > "$PLACE/plan"
  echo "Flags, unless a command has others: char_lm train --data TEXT $recipe; seq2seq train $translating"
}

# commands: those of the trainings and the scores of the claim, each once. OUT_DIR is the folder of each run in turn.
commands() {
  echo "$planned" | sed "s,$PLACE/,,g; s, --data $text $recipe,,; s, $recipe,,; s, $translating,," | while read -r name program flags; do
    case $program in
      char_lm | seq2seq) echo "    $program train $flags" ;;
      convolution) echo "    convolution $flags" ;;
      restarted) echo "    restarted_positions $flags" ;;
    esac
  done
  echo "$scores" | while read -r key measure name flags; do
    case $measure in
      bits) echo "    char_lm eval OUT_DIR${flags:+ $flags}" ;;
      errors) echo '    seq2seq eval OUT_DIR' ;;
      at_places) echo "    char_lm eval OUT_DIR --mode ${flags%% *} --tgt_len 64 --losses FILE" ;;
      copied) echo '    char_lm eval OUT_DIR --losses FILE' ;;
      recl) echo "    char_lm context OUT_DIR… $context_flags" ;;
    esac
  done | sort -u
}

verdict() {
  echo "$claim: $title"
  echo "    $({ seeded; scored; } | tee -a "$PLACE/plan" | cost), decided by: $decision"
  commands
}

finish() { echo "all: $(sort -u "$PLACE/plan" | cost), since claims share some"; }
