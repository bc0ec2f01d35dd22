# What the words of a claim mean for --list: only its title, its trainings and what decides it count.

claim() { title=$1 runs=''; }
trained() { runs="$runs $1"; }
trained_on() { runs="$runs $2"; }
translator() { runs="$runs $1"; }
convolved() { runs="$runs $1"; }
restarted() { runs="$runs $1"; }
decides() { decision=$3; }
table() { :; }
row() { :; }
score() { :; }
expect() { :; }
because() { :; }

verdict() {
  trainings=$(echo $runs | tr ' ' '\n' | sort -u | wc -l)
  echo "$claim: $title"
  echo "    $(echo $seeds | wc -w) x $trainings trainings, decided by: $decision"
}
