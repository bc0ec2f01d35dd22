# Relative positions against absolute ones, where no model sees more than the others.
claim 'Relative positions beat absolute ones at equal context' \
  'Shaw et al. 2018; Dai et al. 2019. Each token is scored from exactly the 64 before it.'
trained transformer --model transformer
trained sinusoid --model transformer --position sinusoid
trained rope --model transformer --position rope
trained alibi --model transformer --position alibi
trained xl_blocks --model transformer_xl --mem_len 0
trained shaw --model shaw
trained music --model music_transformer
table 'On the last hundredth of the text:' bits
for name in xl_blocks shaw music rope alibi transformer sinusoid; do
  case $name in
    xl_blocks) row "Transformer-XL's relative sinusoids, no memory" ;;
    shaw) row "Shaw's clipped distances" ;;
    music) row "Music Transformer's embeddings of distances" ;;
    rope) row 'rotary positions' ;;
    alibi) row 'ALiBi' ;;
    transformer) row 'learned absolute positions' ;;
    sinusoid) row 'absolute sinusoids' ;;
  esac
  score equal_$name bits $name --mode sliding --tgt_len 64 --eval_split 0.01
done
decides equal_xl_blocks equal_sinusoid 'relative sinusoids beat absolute sinusoids'
for absolute in transformer sinusoid; do
  case $absolute in
    transformer) what='learned absolute positions' ;;
    sinusoid) what='absolute sinusoids' ;;
  esac
  [ $absolute = sinusoid ] || expect equal_xl_blocks equal_$absolute "relative sinusoids beat $what"
  expect equal_shaw equal_$absolute "clipped distances beat $what"
  expect equal_music equal_$absolute "embeddings of distances beat $what"
  expect equal_rope equal_$absolute "rotary positions beat $what"
done
