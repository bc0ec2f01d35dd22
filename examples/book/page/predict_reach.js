// <predict-reach layers="2" t="4" m="4" token="17">: the reader marks the tokens that one token's state depends on.
// Then the library runs the model with each of them changed, and says which.

import 'book/cell_field.js';
import { PredictThenSee } from 'book/predict_then_see.js';
import { dependence, segments } from 'book/reach_figure.js';
import { below } from 'book/subscripts.js';

customElements.define('predict-reach', class extends PredictThenSee {
  #size(name) { return Number(this.getAttribute(name)); }
  get #token() { return this.#size('token'); }
  get #marked() { return new Set(this.prediction.split(',').filter(Boolean).map(Number)); }

  get question() {
    const [layers, T, M] = ['layers', 't', 'm'].map((name) => this.#size(name));
    return `A Transformer-XL of ${layers} layers reads ${segments} segments of ${T} tokens, one in each row, and ` +
      `remembers ${M}. Mark all tokens that reach token ${this.#token}, the one with the dot.`;
  }
  hint = 'Press a token, or go there with the arrow keys and press Enter, to mark it or to take the mark away.';
  see = 'Run the model, and see';

  prepare(field) {
    field.innerHTML = '<cell-field class="to-press"></cell-field>';
    this.addEventListener('press', ({ detail }) => this.#toggle(Number(detail.key)));
  }

  #toggle(token) {
    if (this.is_answered || token === this.#token) return;
    const marked = this.#marked;
    if (!marked.delete(token)) marked.add(token);
    this.predict([...marked].sort((a, b) => a - b).join());
  }

  draw(prediction, answer) {
    const T = this.#size('t'), marked = this.#marked;
    this.querySelector('cell-field').show({
      label: `${segments} segments of ${T} tokens`,
      row_names: Array.from({ length: segments }, (_, n) => `s${below(n)}`),
      cells: Array.from({ length: segments * T }, (_, token) => ({
        key: token, row: Math.floor(token / T), column: token % T,
        ...this.#cell(token, marked.has(token), answer?.[token]),
      })),
    });
  }

  #cell(token, is_marked, reaches) {
    if (token === this.#token) return { text: '●', kind: 'plain', color: 0, say: `This is token ${token}.` };
    const own = `You say that token ${token} ${is_marked ? 'reaches' : 'does not reach'} token ${this.#token}.`;
    const plain = (text, color) => is_marked ? { text, kind: 'plain', color } : { text: '', kind: 'plain' };
    if (reaches === undefined) return { ...plain('?', 0), say: own };
    const truth = is_marked === reaches ? 'So it is.' : reaches ? 'It does.' : 'Not one bit of its state changes.';
    const say = `${own} ${truth}`;
    if (!reaches) return { ...plain('✗', 5), say };
    return is_marked ? { ...plain('✓', 2), say } : { text: '!', kind: 'weak', color: 2, say };
  }

  /// Whether each token reaches the chosen one.
  async compute() {
    const layers = this.#size('layers');
    return (await dependence(layers, this.#size('t'), this.#size('m')))[layers].map((moves) => moves[this.#token] > 0);
  }

  verdict(prediction, answer) {
    const marked = this.#marked, others = answer.map((_, token) => token).filter((token) => token !== this.#token);
    const reaching = others.filter((token) => answer[token]);
    const right = reaching.filter((token) => marked.has(token)).length, wrong = marked.size - right;
    const missed = reaching.length - right;
    return `${reaching.length} tokens reach it, from token ${reaching[0]} on. You found ${right} of them (✓)` +
      `${missed ? `, missed ${missed} (!)` : ''}${wrong ? `, and marked ${wrong} that cannot (✗)` : ''}.`;
  }
});
