# Al-Rfou's auxiliary losses on a deep model with its norms after the layers.
claim 'Auxiliary losses let a deep Transformer learn' \
  'Al-Rfou et al. 2018. Twelve layers, norms after them, learned positions before each layer.'
extent few
deep='--model transformer --n_layer 12 --norm_first false --layer_positions true'
trained deep $deep
trained deep_layers $deep --intermediate_losses 1
trained deep_targets $deep --targets 2
trained deep_both $deep --intermediate_losses 1 --targets 2
table '' bits
row 'the last layer predicts the next character'
score deep_at_none bits deep
row 'every layer does, until the half of its share of the training'
score deep_at_layers bits deep_layers
row 'the last layer predicts two characters'
score deep_at_targets bits deep_targets
row 'both'
score deep_at_both bits deep_both
decides deep_at_both deep_at_none 'losses of the layers and of a second target help'
expect deep_at_layers deep_at_none 'losses of the layers alone help'
expect deep_at_targets deep_at_none 'a second target alone helps'
because 'yes yes no' \
  'Without the losses of its layers, the deep model does not learn at this rate, with a second target or without.'
