// The layers whose view <visibility-figure> shows: for each its sliders, its config and its parameters.
//
// The queries are the same for all tokens (their weights are 0, their biases are not), so that a token
// speaks through its key and its value alone.

import { filled, identity, largest_change, random_numbers } from 'book/numbers.js';
import { below } from 'book/subscripts.js';

const C = 4;  // channels of the layers, which have one head

function attention(random) {
  const weight = random([3 * C, C]);
  weight.values.fill(0, 0, C * C);
  return {
    'qkv.weight': weight, 'qkv.bias': random([3 * C]), 'output.weight': random([C, C]), 'output.bias': random([C]),
  };
}

const causal = {
  title: 'causal attention',
  layer: 'multi_head_attention',
  sliders: [],
  config: () => ({ d_model: C, n_head: 1 }),
  parameters: attention,
};
const two_way = { ...causal, title: 'attention both ways', config: () => ({ d_model: C, n_head: 1, causal: false }) };

export const kinds = {
  causal,
  window: {
    ...causal,
    title: 'causal attention with a window',
    sliders: [{ name: 'window', title: 'Window', least: 1, most: 8, start: 3 }],
    config: ({ window }) => ({ d_model: C, n_head: 1, window }),
  },
  mask: { ...causal, title: 'causal attention with a mask of your own', masked_by_hand: true },
  memory: { ...causal, title: 'causal attention with a memory', remembered: 4 },
  two_way,
  padding: {
    ...two_way,
    title: 'attention both ways with padding',
    sliders: [{ name: 'padding', title: 'Padding', most: 4, start: 2 }],
  },
  shaw: {
    title: 'Shaw: rows of clipped distances',
    layer: 'shaw_attention',
    sliders: [{ name: 'max_distance', title: 'Clipped at m', most: 4, start: 2 }],
    config: ({ max_distance }) => ({ d_model: C, n_head: 1, max_distance }),
    parameters: (random, { max_distance }) => ({
      ...attention(random),
      key_distance_embeddings: random([2 * max_distance + 1, C]),
      value_distance_embeddings: random([2 * max_distance + 1, C]),
    }),
    marks: shaw_rows,
    mark_name: (row) => `, with row ${row} of the tables`,
  },
  music: {
    title: 'Music Transformer: a table of max_seq rows',
    layer: 'relative_global_attention',
    sliders: [{ name: 'max_seq', title: 'Rows', least: 1, most: 8, start: 4 }],
    config: ({ max_seq }) => ({ d_model: C, n_head: 1, max_seq, relative_bias: false }),
    parameters: (random, { max_seq }) => ({ ...attention(random), past_embeddings: random([1, max_seq, C]) }),
  },
  aft_local: {
    title: 'AFT local: a band of biases',
    layer: 'aft',
    sliders: [{ name: 'band', title: 'Band s', least: 1, most: 8, start: 3 }],
    config: ({ band, K }) => ({ d_model: C, form: 'local', window: band, max_len: K }),
    parameters: (random, { K }) => ({ ...attention(random), position_bias: random([K, K]) }),
    marks: aft_band,
    mark_name: (mark) => mark === 'w' ? ', with a bias w of its own' : ', without a bias',
  },
  aft_conv: {
    title: 'AFT conv: taps at the last distances',
    layer: 'aft',
    sliders: [{ name: 'taps', title: 'Taps s', least: 1, most: 8, start: 3 }],
    config: ({ taps }) => ({ d_model: C, n_head: 1, form: 'conv', window: taps }),
    parameters: conv_parameters,
    marks: conv_taps,
    mark_name: (tap) => tap ? `, through the tap ${tap}` : ', without a tap',
  },
  local_rnn: {
    title: 'LocalRNN: windows of s tokens',
    layer: 'local_rnn',
    sliders: [{ name: 'rnn_window', title: 'Window s', least: 1, most: 8, start: 3 }],
    config: ({ rnn_window }) => ({ d_model: C, window: rnn_window, cell: 'gru' }),
    parameters: (random) => ({
      weight_ih: random([3 * C, C]), weight_hh: random([3 * C, C]), bias_ih: random([3 * C]), bias_hh: random([3 * C]),
    }),
  },
};

function conv_parameters(random, { taps }) {
  return {
    'query.weight': filled([C, C], 0), 'query.bias': random([C]), 'key.weight': random([1, C]), 'key.bias': random([1]),
    'value.weight': random([C, C]), 'value.bias': random([C]), 'output.weight': random([C, C]), 'output.bias': random([C]),
    kernel: random([1, taps]), kernel_gain: random([1]), kernel_offset: random([1]),
  };
}

const named = (parameters) =>
  Object.fromEntries(Object.entries(parameters).map(([name, tensor]) => [`param.${name}`, tensor]));

/// The sequences [B, K, C] as memory and new tokens.
function inputs(sequences, M, T) {
  const length = (M + T) * C;
  const part = (begin, end) => sequences.flatMap((values) => values.slice(begin * C, end * C));
  if (sequences.some((values) => values.length !== length)) throw new Error(`a sequence is not ${length} long`);
  const memory = M > 0 ? { 'input.memory': { shape: [sequences.length, M, C], values: part(0, M) } } : {};
  return { 'input.x': { shape: [sequences.length, T, C], values: part(M, M + T) }, ...memory };
}

const bools = (shape, values) => ({ shape, values, dtype: 'BOOL' });

function request(kind, sizes, sequences) {
  const B = sequences.length, { M, T, padding, masked } = sizes, K = M + T;
  const row = Array.from({ length: K }, (_, j) => Number(j >= K - padding));
  const cells = Array.from({ length: T * K }, (_, n) => Number(masked?.has(`${Math.floor(n / K)} ${n % K}`)));
  const masks = {
    ...(padding > 0 && { 'input.key_padding_mask': bools([B, K], sequences.flatMap(() => row)) }),
    ...(masked && { 'input.attention_mask': bools([T, K], cells) }),
  };
  return {
    do: 'run_layer', layer: kind.layer, config: kind.config(sizes),
    tensors: {
      ...named(kind.parameters(random_numbers(1), sizes)), ...inputs(sequences, M, T), ...masks,
      grad_output: filled([B, T, C], 1),
    },
  };
}

/// Returns moves[i][j]: how far the output of query i moves, in the channel that moves most, when 1 is added to all
/// channels of token j. It is 0 if not one bit of it changes: query i does not see key j. The first member of the
/// batch is as it is, and in each other one token is another.
export async function who_sees_whom(ask, kind, sizes) {
  const { M, T } = sizes, K = M + T;
  const { values } = random_numbers(2)([K, C]);
  const changed = (j) => values.map((value, n) => Math.floor(n / C) === j ? value + 1 : value);
  const sequences = [values, ...Array.from({ length: K }, (_, j) => changed(j))];
  const { tensors } = await ask(request(kind, sizes, sequences));
  const output = (b, i) => tensors.output.values.slice((b * T + i) * C, (b * T + i + 1) * C);
  return Array.from({ length: T }, (_, i) => {
    const unchanged = output(0, i);
    return Array.from({ length: K }, (_, j) => largest_change(output(j + 1, i), unchanged));
  });
}

/// Which row of Shaw's tables each pair takes. All keys but one are masked, so that it has all of the
/// attention, values are 0, and each row of the value table says its own number.
async function shaw_rows(ask, kind, sizes) {
  const { M, T, max_distance } = sizes, K = M + T;
  const asked = request(kind, { ...sizes, padding: 0 }, Array.from({ length: K }, () => Array(K * C).fill(0)));
  const rows = Array.from({ length: 2 * max_distance + 1 }, (_, row) => [row + 1, ...Array(C - 1).fill(0)]);
  Object.assign(asked.tensors, named({
    'qkv.weight': filled([3 * C, C], 0), 'qkv.bias': filled([3 * C], 0),
    'output.weight': identity(C), 'output.bias': filled([C], 0),
    value_distance_embeddings: { shape: [rows.length, C], values: rows.flat() },
  }));
  const all_but = (only) => Array.from({ length: T * K }, (_, n) => Number(n % K !== only));
  const masks = Array.from({ length: K }, (_, j) => all_but(j));
  asked.tensors['input.attention_mask'] = bools([K, T, K], masks.flat());
  const { tensors } = await ask(asked);
  return Array.from({ length: T }, (_, i) =>
    Array.from({ length: K }, (_, j) => Math.round(tensors.output.values[(j * T + i) * C]) - 1));
}

/// Which pairs have a bias w of AFT: those whose w gets a gradient. A query with one key has none, whatever
/// its w, so the layer looks both ways here, and there is one more token before.
async function aft_band(ask, kind, sizes) {
  const { M, T } = sizes, K = M + T, wider = { ...sizes, M: M + 1, K: K + 1 };
  const asked = request(kind, wider, [random_numbers(2)([K + 1, C]).values]);
  asked.config.causal = false;
  const { tensors } = await ask(asked);
  const gradient = tensors['grad.param.position_bias'].values;
  return Array.from({ length: T }, (_, i) =>
    Array.from({ length: K }, (_, j) => gradient[(M + 1 + i) * (K + 1) + j + 1] !== 0 ? 'w' : ''));
}

/// Which tap of AFT's kernel each pair takes. Tap n is made e^w = n + 2, and each query sees two keys alone: key j,
/// whose value is 1, and one so far before all others that it has no tap, whose value is 0. What comes out is
/// e^w / (e^w + 1), or 1/2 without a tap.
async function conv_taps(ask, kind, sizes) {
  const { M, T, K, taps } = sizes, far = taps, all = far + K;
  const one_key = (j) => Array.from({ length: all * C }, (_, n) => Number(n === (far + j) * C));
  const asked = request(kind, { ...sizes, M: M + far, padding: 0 }, Array.from({ length: K }, (_, j) => one_key(j)));
  const w = Array.from({ length: taps }, (_, n) => Math.log(n + 2));
  const mean = w.reduce((sum, x) => sum + x) / taps;
  const deviation = Math.sqrt(w.reduce((sum, x) => sum + (x - mean) ** 2, 0) / taps);
  Object.assign(asked.tensors, named({
    'query.bias': filled([C], 0), 'key.weight': filled([1, C], 0), 'key.bias': filled([1], 0),
    'value.weight': identity(C), 'value.bias': filled([C], 0), 'output.weight': identity(C), 'output.bias': filled([C], 0),
    kernel: { shape: [1, taps], values: w }, kernel_gain: filled([1], deviation + 1e-5), kernel_offset: filled([1], mean),
  }));
  const seen_alone = (j) => Array.from({ length: T * all }, (_, n) => Number(n % all !== 0 && n % all !== far + j));
  asked.tensors['input.attention_mask'] = bools([K, T, all], Array.from({ length: K }, (_, j) => seen_alone(j)).flat());
  const { tensors } = await ask(asked);
  return Array.from({ length: T }, (_, i) => Array.from({ length: K }, (_, j) => {
    const share = 2 * tensors.output.values[(j * T + i) * C];  // the gate is 1/2
    const tap = Math.round(share / (1 - share)) - 2;
    return tap >= 0 ? `w${below(tap)}` : '';
  }));
}
