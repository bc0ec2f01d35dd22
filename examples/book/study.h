#pragma once

// What a page of the book asks of the library: a training that goes on step by step, what its model
// writes and looks at, and single layers. Requests and answers are JSON, so that a page, a worker
// and a test in a terminal say the same.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace book {

class PairTraining;
class Training;

/// A training and its model. A request is an object whose "do" names one of these:
///
///     begin      model (LanguageModelConfig without vocab_size), training (TrainerConfig), text
///                -> parameters, vocab_size: a new model that knows the characters of the text, and
///                of the text `unseen`, if given. With an `exhibit` {form, mistake} its mixers are
///                those of wrong_on_purpose, and the model names none; it trains as that program
///                does
///     open       file (a checkpoint of char_lm in base64) -> parameters, vocab_size, step: a model
///                that was trained before, in place of one to train
///     train      steps -> step (the number of updates so far), losses (in nats, one for each step)
///     write      prompt, length, temperature, top_p, seed, stop, without -> text: what the model
///                appends, up to `stop` if it is given. With `observed` true it is asked what it
///                attends to, and writes the characters of the list `given` as they are; it chooses
///                itself where that has "", and after its end
///     attended   token -> layers {heads, mean}: the weights [K] with which each head chose this
///                token of the last text that was observed, counted from 0, and the heads' mean.
///                The last weight is that of the token before it, the others those of the ones
///                before
///     score      text, without -> nats, tokens: its loss on all tokens but the first
///     score_in_order  text, blocks -> in_one_pass, in_order: wrong_on_purpose's two losses, of the
///                second half of random blocks of the text. An exhibit that sees both ways has only
///                the first, of characters left blank
///     fill_in    text -> blanked, filled: the text with characters left blank, and with what such
///                an exhibit guesses there
///     attention  text -> layers: for each layer its maps {title, weights}; weights [T, T] in rows
///     terms      text, without -> layers: for each layer its terms {name, heads} and its weights,
///                each a matrix [T, T] for each head; a term is what it adds to the score
///     distances  most -> layers: for each layer its tables {title, first, heads} of what it has
///                learned about distances; a formula is read for the first `most` of them
///     inside     text -> tokens (their numbers), vocabulary (their characters), stages {name,
///                values}, each [T, n] in rows with its gradient, as inside.h lists them;
///                attention, a list for each layer of a matrix [T, T] for each head; probabilities
///                [T, vocabulary]; losses (in nats), loss (their mean), entries (of the tape)
///     learn      text, learning_rate, parameter -> shape, before, gradient, first, second, after,
///                updates: one step of AdamW from this text alone, with its own moments, and what
///                it did to one parameter
///     losses_by_place  text, mode (chunks or memory), segment, memory -> nats: the mean loss at
///                each place of a segment, over the same tokens
///     read       text, mode (chunks, sliding or memory), segment, memory -> tokens (to be read):
///                begins to read a text in this mode
///     read_on    mode, count -> nats (of each token, the next ones of the text read in this mode),
///                fed (tokens fed to the model so far)
///     exhibits   -> exhibits {form, mistake}: the mistakes that a training can be begun with
///     train_pairs  pairs [[SOURCE, TARGET]…], model (EncoderDecoderConfig without sizes of
///                vocabularies), training (PairTrainerConfig), steps -> parameters, losses (in
///                nats, one for each step): a new model that turns one text into another
///     beam_search  source, width, length_penalty, max_length -> targets {text, log_probability,
///                score}, the best first; steps, each a list of what it compares {text,
///                log_probability, score, ended, kept}
///     draw       width (of the place for it, in pixels), chart {title, x_title, y_title, curves
///                [{name, xs, ys}…]} or map {title, values (rows; null is hidden), row_title,
///                row_names, column_title, column_names, memory, limit, signed, bar} -> html, a
///                <drawn-figure>. All but curves and values may be missing
///     worked_example  layer (as show_layer takes it), T, M -> formula, tables: for each its name,
///                meaning, rows and columns (their labels), values in rows, has_hidden. With
///                config and tensors in place of T and M, as for run_layer but without
///                grad_output, the layer has these parameters and reads these inputs
///     run_layer  layer, config, tensors {NAME: {shape, values, dtype}} -> tensors, as the program
///                run_layer names them; a dtype is F32 where none is given
///     views      tensor, steps [[NAME, ARGUMENT…]…], grad_output (may be absent) -> views: for the
///                tensor and for what each step makes of it {shape, strides, offset, storage,
///                recorded, positions, values, gradient}. A step is reshape SHAPE, permute AXES,
///                slice AXIS BEGIN END, reverse AXIS, expand SHAPE, contiguous, pad_left,
///                pad_right, rel_shift_view or shift_right_view. Equal numbers of `storage` share
///                memory; `positions` says where in it each element lies; `recorded` counts the
///                tape's entries up to there. The gradient is that of the last result's product
///                with grad_output.
///
/// `without` is a list of terms that all layers leave out of their scores. Where it is missing,
/// none is left out.
class Study {
 public:
  Study();
  ~Study();

  /// Answers a request. Throws an Error that names what is wrong with it.
  nlohmann::json answer(const nlohmann::json& request);

 private:
  std::unique_ptr<Training> training_;
  std::unique_ptr<PairTraining> pairs_;
};

/// Answers a request in text by one in text, on one line. An error is an answer, too: {"error":
/// "…"}.
std::string answer_text(Study& study, const std::string& request);

}  // namespace book
