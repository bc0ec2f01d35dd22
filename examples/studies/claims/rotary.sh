# The Music Transformer's embeddings of distances against the positions that most models have today.
claim "Learned embeddings of distances beat rotary positions" \
  'Huang et al. 2018; Su et al. 2021. Neither says this: it is our question, after the README of
[relative-global-attention](https://github.com/maximmashkov1/relative-global-attention/blob/b1238f7/readme.md), which
expects it in theory, of embeddings of distances together with sinusoids.'
trained music --model music_transformer
trained rope --model transformer --position rope
table '' bits
row "Music Transformer's embeddings of distances"
score rotary_music bits music
row 'rotary positions'
score rotary_rope bits rope
decides rotary_music rotary_rope 'embeddings of distances beat rotary positions'
