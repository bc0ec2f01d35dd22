// Gives each <sentence-score> the layer whose numbers it shows, those of relative.html, as an attribute.

const { utils } = require('markdown-it')();
const { layer_of_sentence } = require('./relative_score.js');

const with_sentences = (html) =>
  html.replaceAll('<sentence-score ', () => `<sentence-score layer="${utils.escapeHtml(JSON.stringify(layer_of_sentence()))}" `);

module.exports = { with_sentences };
