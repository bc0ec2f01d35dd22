# The words of a claim: each is written down with what it was given, for study.py, which says what they mean.

# said WORD ARGUMENT…: writes the number of these and each of them, with a null behind.
said() { printf '%s\0' "$#" "$@" >> "$PLACE/words"; }

# claim TITLE SOURCE: opens the section of a claim.
# extent few|all|thrice: which models of this claim have other numbers of seeds than most claims give them.
#   few: what decides it has as few as the rest, since its trainings or its scores take minutes.
#   all: the rest has as many as what decides it.
#   thrice: what decides it has three times as many, since the difference is small.
# trained NAME FLAG…: a model of the text; trained_on TEXT NAME FLAG…: one of another text.
# translator NAME FLAG…: a model of seq2seq, from dates to ISO 8601; translator_on PAIRS NAME FLAG…: one of these
#   pairs of lines.
# convolved NAME FLAG…, restarted NAME FLAG…: a model of convolution.cpp, one of restarted_positions.cpp.
# table TEXT COLUMN…: opens a table, of the whole held-out text where TEXT is empty; row WHAT opens a row of it.
# score KEY MEASURE NAME FLAG…: adds the mean over the seeds, its deviation and the number of seeds to the row, and
#   keeps the scores under KEY.
# blank: adds an empty cell.
# course NAME SEED STEP…: adds the loss of one training on held-out text after each of these steps, in bits.
# decides LESS MORE SENTENCE [MARGIN]: the one comparison by which the claim stands or falls.
# expect LESS MORE SENTENCE [MARGIN]: a comparison that is also asked.
# because OUTCOMES TEXT: says why the comparisons above it come out so, such as 'yes no yes'. Only a report of
#   these outcomes has the text; one of others says that they are not explained.
for word in claim extent trained trained_on translator translator_on convolved restarted table row score blank course \
  decides expect because; do
  eval "$word() { said $word \"\$@\"; }"
done
