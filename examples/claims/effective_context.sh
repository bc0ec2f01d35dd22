# The relative effective context length of `char_lm context`, which says how it is computed.
claim 'Transformer-XL makes use of a longer context than the others' \
  'Dai et al. 2019, appendix C: the relative effective context length (RECL).'
extent all
trained xl --model transformer_xl
trained r_transformer --model r_transformer
trained transformer --model transformer
table 'RECL in characters, over the tenth of the characters that are worst predicted from a shorter context:' length
for name in xl r_transformer transformer; do
  case $name in
    xl) row 'Transformer-XL, trained with 64 tokens of memory' ;;
    r_transformer) row 'R-Transformer' ;;
    transformer) row 'learned absolute positions, which end at 64' ;;
  esac
  score recl_$name recl $name xl r_transformer transformer
done
decides recl_transformer recl_xl "Transformer-XL's is above that of absolute positions"
expect recl_r_transformer recl_xl "Transformer-XL's is above that of the R-Transformer"
because 'no yes' \
  'Absolute positions end at 64 tokens, and that model uses as many with each seed. The Transformer-XL uses 80 with five
seeds, 64 with four and 48 with one; in steps of 16, ten seeds cannot tell that from 64. It makes use of 1.6 times as
many as the R-Transformer, whose recurrent net reads what is near.'
