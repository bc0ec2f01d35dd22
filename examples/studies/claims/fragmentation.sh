# The loss by place in the segment: its first tokens have little to read, unless there is a memory.
claim 'A memory mends the start of a segment' \
  'The first tokens of a segment have little before them. Dai et al. 2019, section 1, call this context fragmentation. The
text is scored as the models were trained, in segments of 64 characters.'
trained transformer --model transformer
trained xl_blocks --model transformer_xl --mem_len 0
trained xl --model transformer_xl
table 'Bits per character at these places of a segment, on the whole held-out text:' 1 2 '3–4' '5–8' '9–16' '17–32' '33–64'
for name in transformer xl_blocks xl; do
  mode=chunks
  [ $name != xl ] || mode=memory
  case $name in
    transformer) row 'learned absolute positions, no memory' ;;
    xl_blocks) row 'Transformer-XL, no memory' ;;
    xl) row 'Transformer-XL, 64 tokens of memory' ;;
  esac
  for places in '1 1' '2 2' '3 4' '5 8' '9 16' '17 32' '33 64'; do
    score place_${places% *}_$name at_places $name $mode $places
  done
done
decides place_1_xl place_1_xl_blocks 'at the first place, the memory helps'
expect place_5_xl place_5_xl_blocks 'at places 5 to 8, the memory helps'
expect place_33_xl place_33_xl_blocks 'at places 33 to 64, the memory helps'
expect place_33_xl_blocks place_1_xl_blocks 'without a memory, the first place is worse than 33 to 64'
because 'yes yes opposite yes' \
  'At the end of a segment, where there is enough to read, the model without a memory is even better. The mean over a
segment hardly shows what the memory mends.'
