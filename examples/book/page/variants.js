// The variants that a page can train. All have two layers of 64 channels and 4 heads, and see segments of 32
// tokens; those with a memory see up to 32 tokens before them, too.

import { held_back } from 'book/texts.js';

export const segment = 32;
const size = { d_model: 64, n_layer: 2, n_head: 4, d_inner: 256 };
const attention = (position) => ({ mixer: { type: 'multi_head_attention', position } });
const aft = (form, more) => ({ mixer: { type: 'aft', form, ...more } });

/// name: {model, the config of a LanguageModel without what all share; mem_len}
const table = {
  'Transformer-XL': { model: { mixer: { type: 'transformer_xl_attention' } }, mem_len: segment },
  'Transformer-XL, learned distances': {
    model: { mixer: { type: 'transformer_xl_attention', positions: 'learned', max_positions: 2 * segment } },
    mem_len: segment,
  },
  'labml': { model: { mixer: { type: 'relative_multi_head_attention', max_positions: 2 * segment } }, mem_len: segment },
  'Music Transformer': { model: { mixer: { type: 'relative_global_attention', max_seq: segment } } },
  'Shaw': { model: { mixer: { type: 'shaw_attention', max_distance: 16 } } },
  'Transformer, rotary': { model: attention('rope') },
  'Transformer, ALiBi': { model: attention('alibi') },
  'Transformer, learned positions': { model: { ...attention('none'), position: 'learned', max_len: 2 * segment } },
  'Transformer, sinusoids': { model: { ...attention('none'), position: 'sinusoid' } },
  'Transformer, no positions': { model: attention('none') },
  'AFT full': { model: aft('full', { max_len: 2 * segment }) },
  'AFT local': { model: aft('local', { max_len: 2 * segment, window: 8 }) },
  'AFT simple': { model: aft('simple') },
  'AFT conv': { model: aft('conv', { window: 8 }) },
  'LocalRNN': { model: { mixer: { type: 'local_rnn', window: 8, cell: 'gru' } } },
  'R-Transformer': { model: { block: 'r_transformer_block', window: 8, cell: 'gru' } },
};

export const variants = Object.keys(table);

/// What all trainings on a page share.
export const most_steps = 600;
export const training = {
  batch_size: 8, block_size: segment, max_iters: most_steps, learning_rate: 3e-3, min_lr: 3e-4, warmup_iters: 20,
};

/// The fewest characters of a text: of nine tenths a batch can be made, in which each row has one more to
/// predict, and a tenth is held back.
export const fewest_characters = Math.ceil(training.batch_size * (segment + 1) * 10 / 9);

/// The request that begins to train a variant on a text. The end of the text is held back.
export function begin(variant, text) {
  const { model, mem_len = 0 } = table[variant];
  const { seen, unseen } = held_back(text);
  return { do: 'begin', text: seen, unseen, model: { ...size, ...model }, training: { ...training, mem_len } };
}

/// The request that begins to train a mistake, or the right form beside it.
export function begin_exhibit(exhibit, text) {
  // What sees both ways learns from the few characters that are left blank, and needs more of them.
  const batch_size = exhibit.form === 'Music, two-way' ? 2 * training.batch_size : training.batch_size;
  const { seen, unseen } = held_back(text);
  return { do: 'begin', text: seen, unseen, exhibit, model: size, training: { ...training, batch_size, mem_len: 0 } };
}
