# Texts that are made for a claim. Each has the same random numbers wherever it is made.

# drawn(n) in awk: one of the n numbers from 0 on.
random='function drawn(n) {
  seed = seed * 16807 % 2147483647
  return int(seed / 1000) % n
}
BEGIN { seed = 12345 }
'

# made NAME: keeps standard input under this name. A file that has it already stays as it is.
made() {
  cat > "$PLACE/$1.new"
  cmp -s "$PLACE/$1.new" "$PLACE/$1" || cp "$PLACE/$1.new" "$PLACE/$1"
}

# copied_text NAME N…: writes a text whose every second letter is one of four, drawn at random. Those between repeat in
# capitals what stood n characters before them, for each of these odd n in turn, and each n has capitals of its own. So
# the case tells which letters are copies, and of which distance.
copied_text() {
  copies=$1
  shift
  awk -v distances="$*" "$random"'BEGIN {
    count = split(distances, distance, " ")
    for (t = 0; t < 200000; t++) {
      kind = int(t / 2) % count
      n = distance[kind + 1]
      letter[t] = t % 2 == 0 || t < n ? drawn(4) + 1 : letter[t - n]
      printf "%s", t % 2 ? substr("ABCDEFGHIJKL", 4 * kind + letter[t], 1) : substr("abcd", letter[t], 1)
    }
  }' | made "$copies"
}

# marked_letters NAME LENGTH: writes pairs for seq2seq. A source has letters drawn at random, of which one is
# replaced by a star; its target are the letters three before and two behind the star.
marked_letters() {
  awk -v letters="$2" "$random"'BEGIN {
    for (n = 0; n < 4000; n++) {
      star = 4 + drawn(letters - 5)
      line = ""
      for (i = 1; i <= letters; i++) {
        letter[i] = substr("abcdefgh", drawn(8) + 1, 1)
        line = line (i == star ? "*" : letter[i])
      }
      print line "\t" letter[star - 3] letter[star + 2]
    }
  }' | made "$1"
}
