# What the words of a claim mean once its models are trained.

. "$here/claims/statistics.sh"

# seeds_of NAME: the seeds of the runs of this name.
seeds_of() { sed -n "s/^$1-\([0-9]*\) .*/\1/p" "$PLACE/plan" | sort -n; }

begin() {
  summary=$(mktemp)
  sections=$(mktemp)
  asked=$(mktemp)
  trap 'rm -f "$summary" "$sections" "$asked"' EXIT
}

trained() { runs="$runs $1"; }
trained_on() { runs="$runs $2"; }
translator() { runs="$runs $1"; }
translator_on() { runs="$runs $2"; }
convolved() { runs="$runs $1"; }
restarted() { runs="$runs $1"; }

# claim TITLE SOURCE: opens the section of a claim.
claim() {
  title=$1 source=$2 body='' decision='' verdicts='' outcomes='' reason='' expected=0 runs=''
}

extent() { :; }

# table TEXT COLUMN…: opens a table.
table() {
  body="$body

$1

|"
  shift
  ruler='|---|'
  for column; do
    body="$body | $column"
    ruler="$ruler---:|"
  done
  body="$body |
$ruler"
}

# row WHAT: opens a row, to which each score adds a cell.
row() {
  body="$body
| $1 |"
}

# The measures of a run: numbers that are better when they are smaller, but for the length of a context.
bits() { "$CHAR_LM" eval "$@" | sed -n 's/^\([0-9.]*\) bits per character$/\1/p'; }
errors() { "$SEQ2SEQ" eval "$@" | sed -n 's/^\([0-9.]*\) % token error rate$/\1/p'; }
logged() { sed -n 's/^\([0-9.]*\) bits per character$/\1/p' "$1.log"; }

# at_places RUN MODE FIRST LAST: the mean over the characters at these places of segments of 64.
at_places() {
  each=$PLACE/scores/losses-$(basename "$1")
  if [ ! -s "$each" ]; then
    "$CHAR_LM" eval "$1" --mode "$2" --tgt_len 64 --losses "$each.new" > /dev/null
    mv "$each.new" "$each"
  fi
  awk -v first="$3" -v last="$4" '
    { place = (NR - 1) % 64 + 1 }
    place >= first && place <= last { sum += $1; n++ }
    END { printf "%.6f\n", sum / n / log(2) }' "$each"
}

# copied RUN N: the mean over the letters of copied_text that are copies from 3, 7 or 11 characters back.
copied() {
  each=$PLACE/scores/losses-$(basename "$1")
  if [ ! -s "$each" ]; then
    "$CHAR_LM" eval "$1" --losses "$each.new" > /dev/null
    mv "$each.new" "$each"
  fi
  awk -v n="$2" 'NR % 6 == (n - 1) / 2 { sum += $1; count++ } END { printf "%.6f\n", sum / count / log(2) }' "$each"
}

# The relative effective context length of a run among those of these names with its seed.
recl() {
  run=$1 seed=${1##*-}
  shift
  kept_context=$PLACE/scores/context-$(echo "$*" | tr ' ' -)-$seed
  of_seed=$(for name; do echo "$PLACE/$name-$seed"; done)
  if [ ! -s "$kept_context" ] || [ -n "$(find $(printf '%s.done ' $of_seed) -newer "$kept_context")" ]; then
    "$CHAR_LM" context $of_seed $context_flags --out "$PLACE/context.svg" \
      > "$kept_context.new"
    mv "$kept_context.new" "$kept_context"
  fi
  column=$(echo "$of_seed" | grep -nx "$run" | cut -d : -f 1)
  sed -n 's/>= *//g; s/^ *0\.1 //p' "$kept_context" | awk -v column="$column" '{ print $column }'
}

# score KEY MEASURE NAME FLAG…: adds the mean over the seeds, its deviation and the number of seeds to the row, and
# keeps the scores under KEY.
score() {
  key=$1 measure=$2 name=$3
  shift 3
  : > "$PLACE/scores/$key"
  echo "$name" > "$PLACE/scores/$key.run"
  for seed in $(seeds_of "$name"); do
    kept=$PLACE/scores/$name-$seed:$(echo "$measure $*" | tr ' /' '__')
    if [ ! -s "$kept" ]; then
      $measure "$PLACE/$name-$seed" "$@" > "$kept.new"
      [ -s "$kept.new" ] || fail "$measure of $PLACE/$name-$seed $*: no number"
      mv "$kept.new" "$kept"
    fi
    cat "$kept" >> "$PLACE/scores/$key"
  done
  body="$body $(statistics "$PLACE/scores/$key" '%.3f ± %.3f') ($(wc -l < "$PLACE/scores/$key")) |"
}

# course NAME SEED STEP…: adds the loss of one training on held-out text after each of these steps, in bits.
course() {
  metrics=$PLACE/$1-$2/metrics.jsonl
  shift 2
  for step; do
    body="$body $(awk -v step="$step" -F '[:,}]' '
      $2 == step && /validation_loss/ { printf "%.2f", $6 / log(2) }' "$metrics") |"
  done
}

# compared LESS MORE SENTENCE [MARGIN]: asks whether the mean of one score is below that of the other, or below it
# plus the margin, by more than chance: p < 0.01 in a two-sided t-test, paired where both score the same runs. Sets
# `answer` and `finding`.
compared() {
  pair=
  [ "$(cat "$PLACE/scores/$1.run")" != "$(cat "$PLACE/scores/$2.run")" ] || pair=1
  finding=$(PAIRED=$pair t_test "$PLACE/scores/$1" "$PLACE/scores/$2" "${4:-0}" | awk '{
    answer = $3 >= 0.01 ? "no" : $1 > 0 ? "yes" : "opposite"
    if ($1 < 0 && $1 > -0.0005) $1 = 0
    p = $3 < 0.0001 ? "p < 0.0001" : sprintf("p = %.4f", $3)
    printf "%s %+.3f ± %.3f, %s", answer, $1, $2, p
  }')
  answer=${finding%% *}
  finding="$3 (${finding#* })"
  outcomes="$outcomes${outcomes:+ }$answer"
  expected=$((expected + 1))
  echo "$answer" >> "$asked"
}

# decides LESS MORE SENTENCE [MARGIN]: the one comparison by which the claim stands or falls.
decides() {
  [ -z "$decision" ] || fail "$claim: a second comparison that decides: $3"
  compared "$@"
  case $answer in
    yes) word='holds' ;;
    no) word='not at this size' ;;
    opposite) word='the opposite holds' ;;
  esac
  decision="**$word**: $finding" decisive=$finding
}

# expect LESS MORE SENTENCE [MARGIN]: a comparison that is also asked.
expect() {
  compared "$@"
  verdicts="$verdicts
- $answer: $finding"
}

# because OUTCOMES TEXT: says why the comparisons above it come out so, such as 'yes no yes'. Only a report of
# these outcomes has the text; one of others says that they are not explained.
because() {
  [ "$(echo "$1" | wc -w)" = $expected ] || fail "$claim: a reason for '$1', but there are $expected comparisons"
  if [ "$1" = "$outcomes" ]; then
    reason=$2
  elif [ -z "$reason" ]; then
    reason="These outcomes are not explained: the reason in \`examples/studies/claims/$claim.sh\` is for others."
  fi
}

# The number of trainings of a claim, and what processor time they took as far as that is known.
cost() {
  echo $runs | tr ' ' '\n' | sort -u | while read -r name; do
    for seed in $(seeds_of "$name"); do
      cat "$PLACE/$name-$seed.seconds" 2> /dev/null || echo unknown
    done
  done | awk '
    { n++; if ($1 == "unknown") unknown = 1; seconds += $1 }
    END { printf "%d trainings%s", n, unknown ? "" : sprintf(", %.0f min of one core", seconds / 60 + 0.5) }'
}

# Closes the section of a claim.
verdict() {
  [ -n "$decision" ] || fail "$claim: no comparison decides it"
  cat >> "$sections" << END

## $title
$source
$(cost): \`examples/studies/claims.sh TEXT $claim\`
${body#?}

$decision${verdicts:+
$verdicts}${reason:+

$reason}
END
  echo "| [$title](#$(echo "$title" | tr 'A-Z ' 'a-z-' | tr -d ",.'():")) | $word | $decisive |" >> "$summary"
}

finish() {
  cat << END
# Claims, put to the test

Written by \`examples/studies/claims.sh\` on a text of $(wc -c < "$text") bytes. Flags of all trainings with \`char_lm\`,
unless a command says otherwise:

    $recipe${TRAINING:+ $TRAINING}

Numbers are bits per character on the held-out end of the text, unless the table says otherwise: a mean, its
deviation over the seeds, and in brackets their number. One comparison, named before the trainings, decides each
claim, and its models have the most seeds; the others are also asked. A setting in which a claim can show was sought
before that, with one to three seeds. The answer is yes if the difference has
p < 0.01 in a two-sided t-test, opposite if it has that with the other sign, and else no. The test is paired where
both scores are of the same runs, else Welch's. Brackets behind a comparison have the difference, its standard error
and p. With $(wc -l < "$asked") comparisons, about $(
      awk 'END { printf "%.1f", NR / 100 }' "$asked") would be yes or opposite by
chance alone. \`examples/studies/claims.sh --list\` has the command of each training and score.

| claim | | by |
|---|---|---|
END
  cat "$summary" "$sections"
}
