# Copying from n characters back through layers that each see 4 back: by distance, and step by step.
claim 'Each layer adds its window to the reach' \
  'Dai et al. 2019, section 3.2, of a memory. Every second character is one of four letters, drawn at random. Each character between
copies, as a capital, what stood 3, 7 or 11 characters before it, in turn. A window of 5 tokens, with the token itself,
takes the place of the memory'"'"'s length: a layer sees 4 characters back, and a copy from n back needs (n - 1) / 4 layers.
The models have 32 channels and 2 heads, and learn for 3000 steps. A letter costs 0 bits if the model copies it, else 2.'
extent all
copied_text copies-3-7-11 3 7 11
for layers in 1 2 3; do
  trained_on "$PLACE/copies-3-7-11" copies_$layers --model transformer_xl --window 5 --n_layer $layers \
    --n_embd 32 --n_head 2 --max_iters 3000 --eval_interval 100 --eval_iters 20
done
table 'Bits for the copied letters, by Transformer-XL with L layers:' '3 back' '7 back' '11 back'
for layers in 1 2 3; do
  row "L = $layers"
  for n in 3 7 11; do score copied_${n}_$layers copied copies_$layers $n; done
done
steps='100 200 300 400 500 600 700 1000 2000 3000'
table 'Bits for all letters of unseen text after 100 steps and more. Without any copy they are 2, and each distance that is
copied takes off a third of a bit:' $steps
for training in '1 1' '2 1' '3 1' '3 2' '3 3' '3 4'; do
  seed=$((FIRST_SEED - 1 + ${training#* }))
  row "L = ${training% *}, seed $seed"
  course copies_${training% *} $seed $steps
done
decides copied_7_2 copied_7_1 'two layers copy from 7 back, where one cannot'
expect copied_3_1 copied_7_1 'one layer copies from 3 back and not from 7'
expect copied_7_2 copied_11_2 'two layers do not copy from 11 back'
expect copied_11_3 copied_11_2 'three layers copy from 11 back, where two cannot'
because 'yes yes yes yes' \
  'A model learns one hop after the other, each all at once, or misses it. A copy that it has learned costs 0.02 bits at
most. Two of ten trainings with one layer, one of ten with two, and four of ten with three miss their farthest copy
within 3000 steps. On a text of copies from 7 back alone, the other nine with two layers would need 1.00 bits a letter.'
