# The four terms of the score without (c), u·k, and without (d), v·r; and the other rows of the paper's ablation.
claim "Transformer-XL's biases gain two hundredths of a bit" \
  'Dai et al. 2019, section 3.3: term (c) is u·k, term (d) is v·r. They do not train without the two: that is our question.
Their table 6 has a loss of the last half of each segment, and Shaw'"'"'s encoding behind the memory.'
extent thrice
trained xl_all_terms --model transformer_xl
trained xl_without_c --model transformer_xl --content_bias false
trained xl_without_d --model transformer_xl --position_bias false
trained xl_without_both --model transformer_xl --content_bias false --position_bias false
trained xl_tied --model transformer_xl --tie_position_biases true
trained xl_half --model transformer_xl --loss_tokens 32
trained shaw_memory --model shaw --mem_len 64
table 'Transformer-XL with 64 tokens of memory, on the whole held-out text:' bits
row 'all four terms'
score terms_all bits xl_all_terms
row 'u and v shared by all layers'
score terms_tied bits xl_tied
row 'without (c)'
score terms_without_c bits xl_without_c
row 'without (d)'
score terms_without_d bits xl_without_d
row 'without both'
score terms_without_both bits xl_without_both
row 'all four terms, a loss of the last half of each segment'
score terms_half bits xl_half
row "Shaw's encoding behind the same memory"
score terms_shaw bits shaw_memory
decides terms_all terms_without_both 'all terms beat those without (c) and (d)'
expect terms_all terms_without_c 'all terms beat those without (c)'
expect terms_all terms_without_d 'all terms beat those without (d)'
expect terms_all terms_half 'a loss of all positions beats one of the last half'
expect terms_all terms_shaw "they beat Shaw's encoding"
because 'yes no no yes yes' \
  'The bias of the norm before a layer gives each query a constant part. Where u and v are equal, this part does what they
do. That may be why they add only two hundredths of a bit. The last two rows come out as in the paper, where a
perplexity of 27.02 on WikiText-103 becomes 28.69 by a loss of the last half, and 27.94 with the encoding of Shaw et al.'
