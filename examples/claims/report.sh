# What the words of a claim mean once its models are trained.

begin() {
  summary=$(mktemp)
  sections=$(mktemp)
  trap 'rm -f "$summary" "$sections"' EXIT
}

# does COMMAND: lists a command once.
does() {
  case "$commands
" in *"
    $1
"*) ;; *) commands="$commands
    $1" ;; esac
}

trained() {
  shift
  does "char_lm train $*"
}
trained_on() {
  data=$(basename "$1")
  shift 2
  does "char_lm train --data $data $*"
}
translator() {
  shift
  does "seq2seq train $*"
}
convolved() {
  shift
  does "convolution $*"
}

restarted() {
  shift
  does "restarted_positions $*"
}

# claim TITLE SOURCE: opens the section of a claim.
claim() {
  title=$1 source=$2 commands='' body='' verdicts='' outcomes='' reason='' held=0 expected=0
}

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

# The relative effective context length of a run among those of these names with its seed.
recl() {
  run=$1 seed=${1##*-}
  shift
  kept_context=$PLACE/scores/context-$seed
  if [ ! -s "$kept_context" ]; then
    "$CHAR_LM" context $(for name; do echo "$PLACE/$name-$seed"; done) --tokens 500 --out "$PLACE/context.svg" \
      > "$kept_context.new"
    mv "$kept_context.new" "$kept_context"
  fi
  column=$(for name; do echo "$PLACE/$name-$seed"; done | grep -nx "$run" | cut -d : -f 1)
  sed -n 's/>= *//g; s/^ *0\.1 //p' "$kept_context" | awk -v column="$column" '{ print $column }'
}

# score KEY MEASURE NAME FLAG…: adds the mean over the seeds and its deviation to the row, and keeps them
# under KEY.
score() {
  key=$1 measure=$2 name=$3
  shift 3
  case $measure in
    bits) does "char_lm eval OUT_DIR${*:+ $*}" ;;
    errors) does 'seq2seq eval OUT_DIR' ;;
    recl) does 'char_lm context OUT_DIR… --tokens 500' ;;
  esac
  : > "$PLACE/scores/$key"
  for seed in $seeds; do
    kept=$PLACE/scores/$name-$seed:$(echo "$measure $*" | tr ' /' '__')
    if [ ! -s "$kept" ]; then
      $measure "$PLACE/$name-$seed" "$@" > "$kept.new"
      [ -s "$kept.new" ] || fail "$measure of $PLACE/$name-$seed $*: no number"
      mv "$kept.new" "$kept"
    fi
    cat "$kept" >> "$PLACE/scores/$key"
  done
  body="$body $(statistics "$key" '%.3f ± %.3f') |"
}

# statistics KEY FORMAT: prints the mean of a score and its deviation.
statistics() {
  awk -v format="$2" '
    { sum += $1; squares += $1 * $1 }
    END {
      mean = sum / NR
      variance = (squares - NR * mean * mean) / (NR - 1)
      printf format, mean, sqrt(variance > 0 ? variance : 0)
    }' "$PLACE/scores/$1"
}

# expect LESS MORE SENTENCE: the mean of one score is below that of the other by more than three standard
# errors of their difference.
expect() {
  finding=$(echo "$(statistics "$1" '%.6f %.6f') $(statistics "$2" '%.6f %.6f') $(echo $seeds | wc -w)" | awk '{
    difference = $3 - $1
    error = sqrt(($2 * $2 + $4 * $4) / $5)
    printf "%s %+.3f ± %.3f", (difference > 3 * error ? "yes" : "no"), difference, error
  }')
  expected=$((expected + 1))
  case $finding in yes*) held=$((held + 1)) ;; esac
  outcomes="$outcomes${outcomes:+ }${finding%% *}"
  verdicts="$verdicts
- ${finding%% *}: $3 (${finding#* })"
}

# because OUTCOMES TEXT: says why the comparisons above it come out so, such as 'yes no yes'. Only a report of
# these outcomes has the text; one of others says that they are not explained.
because() {
  [ "$(echo "$1" | wc -w)" = $expected ] || fail "$claim: a reason for '$1', but there are $expected comparisons"
  if [ "$1" = "$outcomes" ]; then
    reason=$2
  elif [ -z "$reason" ]; then
    reason="These outcomes are not explained: the reason in \`examples/claims/$claim.sh\` is for others."
  fi
}

# Closes the section of a claim.
verdict() {
  if [ $held = $expected ]; then
    word='holds'
  elif [ $held = 0 ]; then
    word='not at this size'
  else
    word="holds in part, $held of $expected"
  fi
  cat >> "$sections" << END

## $title

$source
$commands
$body

**$word**
$verdicts${reason:+

$reason}
END
  echo "| [$title](#$(echo "$title" | tr 'A-Z ' 'a-z-' | tr -d ",.'():")) | $word |" >> "$summary"
}

finish() {
  cat << END
# Claims, put to the test

Written by \`examples/claims.sh\` on a text of $(wc -c < "$text") bytes, with $(echo $seeds | wc -w) seeds for
each model. Flags of all trainings with \`char_lm\`, unless a command says otherwise:

    $recipe${TRAINING:+ $TRAINING}

Numbers are bits per character on the held-out end of the text, a mean and its deviation over the seeds,
unless the table says otherwise. A comparison holds (yes) if the difference is above three standard errors of
itself; both stand in brackets. OUT_DIR is the folder of each run in turn.

| claim | |
|---|---|
END
  cat "$summary" "$sections"
}
