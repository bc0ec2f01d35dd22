# The relative effective context length of `char_lm context`, which says how it is computed.
claim 'Transformer-XL makes use of a longer context than the others' \
  'Dai et al. 2019, appendix C: the relative effective context length (RECL).'
extent all
trained xl_short --model transformer_xl $short --mem_len 64
trained r_transformer_short --model r_transformer $short
trained transformer_short --model transformer $short
trained xl --model transformer_xl
trained r_transformer --model r_transformer
trained transformer --model transformer
table 'RECL in characters, over the tenth of the characters that are worst predicted from a shorter context:' \
  'length in segments of 16' 'in segments of 64'
for name in xl r_transformer transformer; do
  case $name in
    xl) row 'Transformer-XL, trained with 64 tokens of memory' ;;
    r_transformer) row 'R-Transformer' ;;
    transformer) row 'learned absolute positions, which end at 16 or 64' ;;
  esac
  for kind in _short ''; do
    score recl_$name$kind recl $name$kind xl$kind r_transformer$kind transformer$kind
  done
done
decides recl_transformer_short recl_xl_short "in segments of 16, Transformer-XL's is above that of absolute positions"
expect recl_r_transformer_short recl_xl_short 'there it is also above that of the R-Transformer'
expect recl_transformer recl_xl 'in segments of 64 it is above that of absolute positions'
expect recl_r_transformer recl_xl 'there it is above that of the R-Transformer'
because 'yes yes no yes' \
  'The paper finds a context 80 % longer than that of recurrent nets and 450 % longer than that of vanilla Transformers. In
segments of 16 the test asks only whether a Transformer-XL uses more than 16 characters: absolute positions end at 16,
and no shorter length is tried. In segments of 64, Transformer-XL uses 80 characters with five seeds, 64 with four and
48 with one. The scores take an hour of one core.'
