# Segment-level recurrence, where segments are short, where they are long, and on a text that needs it; and a memory
# that is longer at evaluation than in training.
claim 'A memory helps' 'Dai et al. 2019, section 3.2. A segment that is short leaves much to read before it.'
trained xl_short --model transformer_xl $short --mem_len 64
trained xl_short_blocks --model transformer_xl $short --mem_len 0
trained xl --model transformer_xl
trained xl_blocks --model transformer_xl --mem_len 0
copied_text copies-17 17
trained_on "$PLACE/copies-17" copies_behind --model transformer_xl $short --mem_len 16
trained_on "$PLACE/copies-17" copies_alone --model transformer_xl $short --mem_len 0
table 'Transformer-XL, segments of 16 tokens and of 64. For the copies, segments and memory have 16 tokens, and every second
letter of the text repeats what stood 17 characters before it (2 bits without the copies, 1 bit with them):' \
  'segments of 16' 'segments of 64' copies
row 'trained and scored with 64 tokens of memory'
score short_64 bits xl_short
score memory_64 bits xl --mem_len 64
score copies_16 bits copies_behind
row 'trained and scored without'
score short_never bits xl_short_blocks
score memory_never bits xl_blocks
score copies_never bits copies_alone
for length in 0 128 256; do
  row "trained with 64, scored with $length"
  blank
  score memory_$length bits xl --mem_len $length
  blank
done
row 'trained without, scored with 64'
blank
score memory_late bits xl_blocks --mem_len 64
blank
decides short_64 short_never 'in segments of 16, a memory in training and at evaluation beats none at all'
expect memory_64 memory_never 'so it does in segments of 64'
expect copies_16 copies_never 'so it does where copies come from beyond the segment'
expect memory_late memory_never 'in segments of 64, a memory at evaluation only beats none at all'
expect memory_64 memory_late 'a memory in training beats one at evaluation only'
expect memory_64 memory_0 'a model trained with a memory needs it'
expect memory_256 memory_64 'four times the memory at evaluation beats that of training'
because 'yes no yes yes opposite yes no' \
  'The shorter the segment, the more there is to read before it. In segments of 64, the best model trains without a memory
and reads one at evaluation. A model that trains with a memory needs it, and gains by it no more than the
noise of ten seeds.'
