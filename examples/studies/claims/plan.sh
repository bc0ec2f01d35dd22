# What the words of a claim mean while the trainings are gathered: those that a claim names, each with the seeds
# that it needs.

begin() { : > "$PLACE/plan"; }

claim() { title=$1 planned='' scores='' deciding='' decision='' extent=''; }

# extent few|all|thrice: which models of this claim have other numbers of seeds than most claims give them.
#   few: what decides it has as few as the rest, since its trainings or its scores take minutes.
#   all: the rest has as many as what decides it.
#   thrice: what decides it has three times as many, since the difference is small.
extent() { extent=$1; }

# plan NAME PROGRAM FLAGS: there will be runs of this name.
plan() {
  planned="$planned$*
"
}

trained() { trained_on "$text" "$@"; }

# trained_on TEXT NAME FLAG…: a model of the text.
trained_on() {
  data=$1 name=$2
  shift 2
  plan "$name" char_lm "--data $data $recipe $* ${TRAINING:-}"
}

translating='--n_embd 64 --max_iters 400 --learning_rate 2e-3 --eval_interval 400'

# translator NAME FLAG…: a model of seq2seq, from dates to ISO 8601.
translator() {
  name=$1
  shift
  plan "$name" seq2seq "$translating $* ${TRANSLATING:-}"
}

# translator_on PAIRS NAME FLAG…: one of these pairs of lines.
translator_on() {
  data=$1 name=$2
  shift 2
  translator "$name" --data "$data" "$@"
}

# convolved NAME FLAG…: a model of examples/studies/claims/convolution.cpp.
convolved() {
  name=$1
  shift
  plan "$name" convolution "--data $text $* ${CONVOLVING:-}"
}

# restarted NAME FLAG…: a model of examples/studies/claims/restarted_positions.cpp.
restarted() {
  name=$1
  shift
  plan "$name" restarted "--data $text $* ${RESTARTING:-}"
}

table() { :; }
row() { :; }
course() { :; }
score() { scores="$scores$*
"; }

# decides LESS MORE SENTENCE: the runs of both scores have all seeds.
decides() {
  decision=$3
  deciding=$(echo "$scores" | awk -v less="$1" -v more="$2" '$1 == less || $1 == more { print $3 }')
}

expect() { :; }
because() { :; }

# seeded: the trainings of the claim, a line for each seed: its name, its program and its flags.
seeded() {
  echo "$planned" | while read -r name program flags; do
    [ -n "$name" ] || continue
    case $extent:$(echo "$deciding" | grep -cx "$name") in
      all:* | :[1-9]) many=$seeds ;;
      thrice:[1-9]) many=$(seq $((3 * $(echo "$seeds" | wc -l)))) ;;
      *) many=$other_seeds ;;
    esac
    for seed in $many; do echo "$name-$seed $program --seed $seed $flags"; done
  done
}

verdict() { seeded >> "$PLACE/plan"; }

finish() {
  sort -u -o "$PLACE/plan" "$PLACE/plan"
  date +%s > "$PLACE/started"
  xargs -P "${JOBS:-$(nproc)}" -L 1 "$here/claims/train.sh" < "$PLACE/plan"
}
