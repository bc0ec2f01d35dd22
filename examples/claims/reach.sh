# Copying from n characters back: every second letter of four is drawn at random, the others repeat what stood
# n before. A token sees n - 1 tokens back at best through as many layers as that takes.
claim 'The reach is the length of the memory times the number of layers' \
  'Dai et al. 2019, section 3.2. Every second of four letters is drawn at random, and those between repeat what
stood n characters before them. A layer sees 4 characters back, so n has to be at most 4 L + 1. A model
that copies reaches 1 bit; one that cannot stays at 2.'
for n in 3 7 11; do
  awk -v n=$n 'BEGIN {
    seed = 12345
    for (t = 0; t < 200000; t++) {
      if (t % 2 == 0 || t < n) {
        seed = seed * 16807 % 2147483647
        letter[t] = substr("abcd", int(seed / 1000) % 4 + 1, 1)
      } else {
        letter[t] = letter[t - n]
      }
      printf "%s", letter[t]
    }
  }' > "$PLACE/copy-$n.new"
  cmp -s "$PLACE/copy-$n.new" "$PLACE/copy-$n" || cp "$PLACE/copy-$n.new" "$PLACE/copy-$n"
  for layers in 1 2 3; do
    trained_on "$PLACE/copy-$n" copy_${n}_$layers \
      --model transformer_xl --window 5 --n_layer $layers --n_embd 32 --n_head 2
  done
done
table 'Transformer-XL with L layers, each with a window of 5 tokens, the token itself included:' \
  'n = 3' 'n = 7' 'n = 11'
for layers in 1 2 3; do
  row "L = $layers"
  for n in 3 7 11; do score reach_${n}_$layers bits copy_${n}_$layers; done
done
decides reach_7_2 reach_7_1 'two layers make use of 7 back, where one cannot'
expect reach_3_1 reach_7_1 'one layer makes use of 3 back and not of 7'
expect reach_7_2 reach_11_2 'two layers make no use of 11 back'
expect reach_11_3 reach_11_2 'three layers make use of 11 back, where two cannot'
because 'yes no yes no' \
  'With 7 back, two layers know in 600 steps which three letters stood 5, 7 and 9 back, but not in which order: that
gives (2 + 1.111) / 2 = 1.555 bits, where a copy has 1. Three hops were not learned at all. Nothing comes from
beyond the reach: no path leads there. What one layer makes of 3 back differs from seed to seed.'
