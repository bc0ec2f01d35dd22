# Absolute positions that start anew in each segment while the memory is kept: a token of the memory and one
# of the segment then have the same position.
claim 'A memory harms absolute positions that start anew' \
  'Dai et al. 2019, section 3.3. Absolute positions start anew in each segment, behind the same memory.'
for positions in relative absolute; do
  for length in 0 64; do
    restarted restarted_${positions}_$length --positions $positions --mem_len $length
  done
done
table 'Sinusoids, blocks of 64 tokens. Bits in the last hundred of 600 batches, each of new text, behind' \
  'no memory' '64 tokens'
for positions in relative absolute; do
  row "$positions positions"
  for length in 0 64; do score ${positions}_behind_$length logged restarted_${positions}_$length; done
done
decides absolute_behind_0 absolute_behind_64 'absolute positions are worse behind a memory than without'
expect relative_behind_64 relative_behind_0 'relative positions gain by the memory'
expect relative_behind_64 absolute_behind_64 'behind a memory, relative positions beat absolute ones'
