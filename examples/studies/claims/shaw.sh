# The clipping distance k, and what the tables are added to.
claim "Shaw's distances can be clipped at 4" \
  'Shaw et al. 2018.'
for k in 0 1 2 4; do trained shaw_$k --model shaw --max_distance $k; done
trained shaw --model shaw
trained shaw_keys --model shaw --value_positions false
trained shaw_values --model shaw --key_positions false
trained shaw_neither --model shaw --key_positions false --value_positions false
table '' bits
for k in 0 1 2 4; do
  row "k = $k"
  score shaw_at_$k bits shaw_$k
done
row 'k = 16'
score shaw_at_16 bits shaw
row 'k = 16, keys only'
score shaw_at_keys bits shaw_keys
row 'k = 16, values only'
score shaw_at_values bits shaw_values
row 'neither keys nor values'
score shaw_at_neither bits shaw_neither
decides shaw_at_4 shaw_at_16 'k = 4 is at most 0.05 bits worse than k = 16' 0.05
expect shaw_at_1 shaw_at_0 'k = 1 beats k = 0, which tells no order'
expect shaw_at_4 shaw_at_1 'k = 4 beats k = 1'
expect shaw_at_16 shaw_at_4 'k = 16 beats k = 4'
expect shaw_at_keys shaw_at_values 'keys only beat values only'
expect shaw_at_16 shaw_at_keys 'both beat keys only'
