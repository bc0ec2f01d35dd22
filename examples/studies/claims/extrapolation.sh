# Models trained on blocks of 64 tokens, scored in blocks of up to eight times that.
claim "Transformer-XL's sinusoids carry over to longer blocks" \
  'Dai et al. 2019; Press et al. 2022. Trained on blocks of 64 tokens without a memory.'
trained xl_blocks --model transformer_xl --mem_len 0
trained xl_learned --model transformer_xl --position learned --mem_len 0
trained shaw --model shaw
trained music_512 --model music_transformer --max_seq 512
trained labml_512 --model labml --max_positions 512 --mem_len 0
trained rope --model transformer --position rope
trained alibi --model transformer --position alibi
trained sinusoid --model transformer --position sinusoid
trained aft_conv_64 --model aft --form conv
trained local_rnn --model local_rnn
trained r_transformer --model r_transformer
table 'Scored in blocks of' 64 128 256 512
for name in xl_blocks xl_learned shaw music_512 labml_512 rope alibi sinusoid aft_conv_64 local_rnn r_transformer; do
  case $name in
    xl_blocks) row "Transformer-XL's sinusoids" ;;
    xl_learned) row "Transformer-XL's learned distances, clipped at 128" ;;
    shaw) row "Shaw's distances, clipped at 16" ;;
    music_512) row "Music Transformer's distances, of which 64 were trained" ;;
    labml_512) row "labml's distances, of which 64 were trained" ;;
    rope) row 'rotary positions' ;;
    alibi) row 'ALiBi' ;;
    sinusoid) row 'absolute sinusoids' ;;
    aft_conv_64) row "AFT's convolution over 11 tokens" ;;
    local_rnn) row 'LocalRNN over 7 tokens' ;;
    r_transformer) row 'R-Transformer' ;;
  esac
  for length in 64 128 256 512; do score ${name}_$length bits $name --mode chunks --tgt_len $length; done
done
decides xl_blocks_512 xl_blocks_64 "Transformer-XL's sinusoids get better with longer blocks"
expect shaw_512 shaw_64 'clipped distances get better'
expect alibi_512 alibi_64 'ALiBi gets better'
expect local_rnn_512 local_rnn_64 'LocalRNN gets better'
expect rope_64 rope_512 'rotary positions get worse'
expect music_512_64 music_512_512 'distances that were never trained do harm'
expect sinusoid_64 sinusoid_512 'absolute sinusoids get worse'
because 'yes opposite yes yes yes no yes' \
  'A paired test tells some hundredths of a bit. Clipped distances gain a little up to 128 tokens and lose more beyond.'
