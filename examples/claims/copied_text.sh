# copied_text NAME N…: writes a text whose every second letter is one of four, drawn at random. Those between repeat in
# capitals what stood n characters before them, for each of these odd n in turn, and each n has capitals of its own. So
# the case tells which letters are copies, and of which distance.
copied_text() {
  made=$PLACE/$1
  shift
  awk -v distances="$*" 'BEGIN {
    count = split(distances, distance, " ")
    seed = 12345
    for (t = 0; t < 200000; t++) {
      kind = int(t / 2) % count
      n = distance[kind + 1]
      if (t % 2 == 0 || t < n) {
        seed = seed * 16807 % 2147483647
        letter[t] = int(seed / 1000) % 4 + 1
      } else {
        letter[t] = letter[t - n]
      }
      printf "%s", t % 2 ? substr("ABCDEFGHIJKL", 4 * kind + letter[t], 1) : substr("abcd", letter[t], 1)
    }
  }' > "$made.new"
  cmp -s "$made.new" "$made" || cp "$made.new" "$made"
}
