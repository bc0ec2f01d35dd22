# The two-way forms, in the encoder of seq2seq.
claim 'Two-way relative attention helps an encoder' \
  'Huang et al. 2018 and Yang et al. 2019, here in `seq2seq`, which turns dates into ISO 8601.'
for encoder in transformer rope shaw music_transformer transformer_xl; do
  translator dates_$encoder --encoder $encoder
done
table 'Wrong tokens of 1000 held-out dates, in percent:' '%'
for encoder in music_transformer transformer_xl shaw rope transformer; do
  case $encoder in
    transformer) row 'absolute sinusoids' ;;
    rope) row 'rotary positions' ;;
    shaw) row "Shaw's clipped distances" ;;
    music_transformer) row "Music Transformer's embeddings, two-way" ;;
    transformer_xl) row "Transformer-XL's sinusoids, two-way" ;;
  esac
  score both_$encoder errors dates_$encoder
done
decides both_transformer_xl both_transformer "Transformer-XL's sinusoids beat absolute ones"
expect both_music_transformer both_transformer "Music Transformer's embeddings beat absolute sinusoids"
expect both_music_transformer both_rope "Music Transformer's embeddings beat rotary positions"
because 'no no no' \
  'The seeds differ by more than the forms: after 400 steps some models have found the rule of the dates, and
others have not.'
