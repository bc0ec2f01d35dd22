# marked_letters NAME LENGTH: writes pairs for seq2seq. A source has letters drawn at random, of which one is
# replaced by a star; its target are the letters three before and two behind the star.
marked_letters() {
  made=$PLACE/$1
  awk -v length_of_line="$2" '
    function drawn(n) {
      seed = seed * 16807 % 2147483647
      return int(seed / 1000) % n
    }
    BEGIN {
      seed = 12345
      for (n = 0; n < 4000; n++) {
        star = 4 + drawn(length_of_line - 5)
        line = ""
        for (i = 1; i <= length_of_line; i++) {
          letter[i] = substr("abcdefgh", drawn(8) + 1, 1)
          line = line (i == star ? "*" : letter[i])
        }
        print line "\t" letter[star - 3] letter[star + 2]
      }
    }' > "$made.new"
  cmp -s "$made.new" "$made" || cp "$made.new" "$made"
}
