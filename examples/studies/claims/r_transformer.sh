# The R-Transformer's window and its cell.
claim 'The R-Transformer lives by its LocalRNN' 'Wang et al. 2019.'
for window in 1 3 15; do trained r_transformer_$window --model r_transformer --window $window; done
trained r_transformer --model r_transformer
for cell in rnn lstm; do trained r_transformer_$cell --model r_transformer --cell $cell; done
trained transformer --model transformer
table '' bits
for window in 1 3 15; do
  row "GRU, window $window"
  score r_at_$window bits r_transformer_$window
done
row 'GRU, window 7'
score r_at_7 bits r_transformer
for cell in rnn lstm; do
  row "$cell, window 7"
  score r_at_$cell bits r_transformer_$cell
done
row 'vanilla Transformer'
score r_at_transformer bits transformer
decides r_at_7 r_at_transformer 'it beats a vanilla Transformer'
expect r_at_3 r_at_1 'a window of 3 beats 1'
expect r_at_7 r_at_3 'a window of 7 beats 3'
expect r_at_15 r_at_7 'a window of 15 beats 7'
expect r_at_lstm r_at_rnn 'an LSTM beats a plain recurrent net'
