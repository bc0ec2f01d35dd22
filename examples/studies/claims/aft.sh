# The window of AFT's position biases, and the four forms, on blocks of 256 tokens.
claim "AFT's window is best in the middle" \
  'Zhai et al. 2021. Blocks of 256 tokens, three in a batch; a window of 0 is the simple form. The position biases are
products of two tables of 64 columns, as the paper factorises them. Rows of one table have an entry for each pair.'
blocks='--block_size 256 --batch_size 3'
trained aft_simple --model aft --form simple $blocks
for window in 1 4 16 64 256; do
  trained aft_local_$window --model aft --form local --window $window $blocks
done
trained aft_full --model aft --form full $blocks
trained aft_table --model aft --form local --window 16 --factor_rank 0 $blocks
trained aft_fast --model aft --form local --window 16 --factor_rank 0 $blocks "--lr_scale '*position_bias=100'"
trained aft_conv --model aft --form conv $blocks
table '' bits
row 'simple, a window of 0'
score aft_at_0 bits aft_simple
for window in 1 4 16 64 256; do
  row "local, window $window"
  score aft_at_$window bits aft_local_$window
done
row 'full'
score aft_at_full bits aft_full
row 'local, window 16, one table'
score aft_at_table bits aft_table
row 'local, window 16, one table at a hundred times the rate'
score aft_at_fast bits aft_fast
row 'convolution, window 11'
score aft_at_conv bits aft_conv
decides aft_at_16 aft_at_256 'a window of 16 beats one of 256'
expect aft_at_16 aft_at_1 'a window of 16 beats one of 1'
expect aft_at_16 aft_at_0 'a window of 16 beats none'
expect aft_at_4 aft_at_16 'a window of 4 beats one of 16'
expect aft_at_16 aft_at_table 'two thin tables beat one'
expect aft_at_fast aft_at_16 'one table at a hundred times the rate beats two'
expect aft_at_16 aft_at_conv 'a window of 16 beats the convolution'
because 'yes yes yes no yes yes opposite' \
  'The biases of far tokens seem to bring more noise than knowledge. A window of 1 has a bias for the token itself alone. The
gradients of one table are small, and at a hundred times the rate it is ahead of two thin ones, and of the convolution.'
