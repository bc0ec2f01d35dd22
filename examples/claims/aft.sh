# The window of AFT's position biases, and the four forms, on blocks of 256 tokens.
claim "AFT's window is best in the middle" \
  'Zhai et al. 2021. Blocks of 256 tokens, three in a batch; a window of 0 is the simple form.'
blocks='--block_size 256 --batch_size 3'
for window in 1 4 16 64 256; do
  trained aft_local_$window --model aft --form local --window $window $blocks
done
for form in full simple conv; do trained aft_$form --model aft --form $form $blocks; done
table 'On the whole held-out text:' bits
row 'simple, a window of 0'
score aft_at_0 bits aft_simple
for window in 1 4 16 64 256; do
  row "local, window $window"
  score aft_at_$window bits aft_local_$window
done
row 'full'
score aft_at_full bits aft_full
row 'convolution, window 11'
score aft_at_conv bits aft_conv
decides aft_at_16 aft_at_256 'a window of 16 beats one of 256'
expect aft_at_16 aft_at_0 'a window of 16 beats none'
expect aft_at_conv aft_at_16 'the convolution beats all of these'
because 'no yes yes' \
  'Windows of 16 and more come to the same: the biases of far tokens stay near 0 in a training as short as this.'
