# The four terms of the score without (c), u·k, and without (d), v·r.
claim "The biases of Transformer-XL's score are of use" \
  'Dai et al. 2019, section 3.3: term (c) is u·k, term (d) is v·r.'
trained xl --model transformer_xl
trained xl_without_c --model transformer_xl --content_bias false
trained xl_without_d --model transformer_xl --position_bias false
trained xl_without_both --model transformer_xl --content_bias false --position_bias false
trained xl_tied --model transformer_xl --tie_position_biases true
table 'Transformer-XL with 64 tokens of memory, on the whole held-out text:' bits
row 'all four terms'
score terms_all bits xl
row 'u and v shared by all layers'
score terms_tied bits xl_tied
row 'without (c)'
score terms_without_c bits xl_without_c
row 'without (d)'
score terms_without_d bits xl_without_d
row 'without both'
score terms_without_both bits xl_without_both
decides terms_all terms_without_both 'all terms beat those without (c) and (d)'
expect terms_all terms_without_c 'all terms beat those without (c)'
expect terms_all terms_without_d 'all terms beat those without (d)'
because 'no no no' \
  'A bias is worth some hundredths of a bit at most, which three seeds do not tell from noise.'
