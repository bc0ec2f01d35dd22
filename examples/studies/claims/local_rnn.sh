# LocalRNN against a convolution over the same window, both alone and without attention.
claim 'LocalRNN beats a convolution over 7 tokens' \
  'Wang et al. 2019, section 3.1. `convolution.cpp` trains both on text, in four layers without attention.'
for window in 3 7 15; do
  for layer in rnn gru convolution; do convolved ${layer}_$window --layer $layer --window $window; done
done
table 'Bits behind windows of' 3 7 15
for layer in rnn gru convolution; do
  case $layer in
    rnn) row 'LocalRNN, tanh' ;;
    gru) row 'LocalRNN, GRU' ;;
    convolution) row 'convolution, tanh' ;;
  esac
  for window in 3 7 15; do score ${layer}_at_$window logged ${layer}_$window; done
done
decides rnn_at_7 convolution_at_7 'the plain recurrent net beats the convolution over 7 tokens'
for window in 3 7 15; do
  [ $window = 7 ] ||
    expect rnn_at_$window convolution_at_$window "the plain recurrent net beats the convolution over $window tokens"
  expect gru_at_$window convolution_at_$window "the GRU beats the convolution over $window tokens"
done
because 'yes no no yes yes yes' \
  'Over three tokens there is little order to learn. The convolution over 15 tokens loses to the one over 3, which it
contains: what costs is to learn a matrix for each distance in so short a training.'
