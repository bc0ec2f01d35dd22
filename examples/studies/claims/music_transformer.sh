# What the Music Transformer adds to the score, and to the embedding.
claim "Music Transformer's embeddings of distances beat absolute sinusoids" \
  'Huang et al. 2018; the bias for each distance is that of the public code, not of the paper.'
trained music --model music_transformer
trained music_no_bias --model music_transformer --relative_bias false
trained music_sinusoid --model music_transformer --position sinusoid
trained rope --model transformer --position rope
trained sinusoid --model transformer --position sinusoid
table '' bits
row 'embeddings of distances and a bias for each'
score music_both bits music
row 'embeddings of distances'
score music_paper bits music_no_bias
row 'embeddings, biases and absolute sinusoids'
score music_absolute bits music_sinusoid
row 'rotary positions'
score music_rope bits rope
row 'absolute sinusoids alone'
score music_sinusoid bits sinusoid
decides music_paper music_sinusoid 'embeddings of distances beat absolute sinusoids'
expect music_both music_paper 'the bias for each distance helps'
expect music_both music_absolute 'absolute sinusoids besides do harm'
expect music_both music_rope 'embeddings of distances beat rotary positions'
