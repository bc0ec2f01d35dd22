# Segment-level recurrence, and a memory that is longer at evaluation than in training.
claim 'A memory helps' 'Dai et al. 2019, section 3.2.'
trained xl --model transformer_xl
trained xl_blocks --model transformer_xl --mem_len 0
table 'Transformer-XL, blocks of 64 tokens, on the whole held-out text:' bits
for length in 0 64 128 256; do
  row "trained with 64 tokens of memory, scored with $length"
  score memory_$length bits xl --mem_len $length
done
row 'trained and scored without'
score memory_never bits xl_blocks
row 'trained without, scored with 64'
score memory_late bits xl_blocks --mem_len 64
decides memory_64 memory_never 'a memory in training and at evaluation beats none at all'
expect memory_late memory_never 'a memory at evaluation only beats none at all'
expect memory_64 memory_late 'a memory in training beats one at evaluation only'
expect memory_64 memory_0 'a model trained with a memory needs it'
expect memory_256 memory_64 'four times the memory at evaluation beats that of training'
because 'no yes no yes no' \
  'What a memory gains at this size is near the noise. A model trained with one needs it all the same.'
