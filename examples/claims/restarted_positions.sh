# Absolute positions that start anew in each segment while the memory is kept: a token of the memory and one
# of the segment then have the same position.
claim 'A memory needs relative positions' \
  'Dai et al. 2019, section 3.3. Absolute positions start anew in each segment, behind the same memory.'
trained xl --model transformer_xl
trained sinusoid --model transformer --position sinusoid
trained sinusoid_memory --model transformer --position sinusoid --mem_len 64
table 'Blocks of 64 tokens, on the whole held-out text:' bits
row 'relative sinusoids, 64 tokens of memory'
score restarted_relative bits xl
row 'absolute sinusoids, 64 tokens of memory'
score restarted_absolute bits sinusoid_memory
row 'absolute sinusoids, no memory'
score restarted_without bits sinusoid
expect restarted_relative restarted_absolute 'with a memory, relative positions beat absolute ones'
expect restarted_without restarted_absolute 'absolute positions are better off without the memory'
