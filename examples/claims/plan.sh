# What the words of a claim mean while the trainings are gathered: only `trained` and its kin do anything.

begin() { : > "$PLACE/plan"; }

# planned NAME PROGRAM FLAG…: there will be a run of this name for each seed.
planned() {
  for seed in $seeds; do echo "$1-$seed" "$2" --seed "$seed" $3; done >> "$PLACE/plan"
}

trained() { trained_on "$text" "$@"; }

# trained_on TEXT NAME FLAG…: a model of the text.
trained_on() {
  data=$1 name=$2
  shift 2
  planned "$name" char_lm "--data $data $recipe $* ${TRAINING:-}"
}

# translator NAME FLAG…: a model of seq2seq, from dates to ISO 8601.
translator() {
  name=$1
  shift
  planned "$name" seq2seq "--n_embd 64 --max_iters 400 --learning_rate 2e-3 --eval_interval 400 $* ${TRANSLATING:-}"
}

# convolved NAME FLAG…: a model of examples/claims/convolution.cpp.
convolved() {
  name=$1
  shift
  planned "$name" convolution "--data $text $* ${CONVOLVING:-}"
}

# restarted NAME FLAG…: a model of examples/claims/restarted_positions.cpp.
restarted() {
  name=$1
  shift
  planned "$name" restarted "--data $text $* ${RESTARTING:-}"
}

claim() { :; }
table() { :; }
row() { :; }
score() { :; }
decides() { :; }
expect() { :; }
because() { :; }
verdict() { :; }

finish() {
  sort -u -o "$PLACE/plan" "$PLACE/plan"
  date +%s > "$PLACE/started"
  xargs -P "${JOBS:-$(nproc)}" -L 1 "$here/claims/train.sh" < "$PLACE/plan"
}
