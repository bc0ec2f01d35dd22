"""Whole models of char_lm and seq2seq as torch.nn.Modules: from tokens to logits."""

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch.nn.utils.rnn import pad_sequence

from shiftgrad import _extension

from . import inputs
from .layer import Layer, State
from .operator import extension
from .vocabulary import Vocabulary


_Text = TypeVar("_Text", str, bytes, torch.Tensor)


class _Model(Layer):
    """What both kinds have in common: tokens for x, and a way to write."""

    #: The flags of the training of a loaded model.
    flags: dict[str, Any] = {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file that char_lm or seq2seq, and sg.load, read as one of their checkpoints.

        Weights are written as float32. Raises a ValueError where the model has no vocabulary, or not one for
        all of its tokens. Puts the whole file there, or leaves what is there.
        """
        file = inputs.path("save", "path", path)
        vocabularies = [getattr(self, name) for name in self._vocabularies]
        for name, each in zip(self._vocabularies, vocabularies):
            if each is None:
                raise ValueError(f"{self.name}: a model without a {name} is no run; set model.{name} to a Vocabulary")
            if not isinstance(each, Vocabulary):
                raise TypeError(f"{self.name}: {name} is {inputs.shown(each)}, expected a Vocabulary")
        config = {key: value for key, value in self.config.items() if "dropout" not in key}
        tensors = self._tensors(next(self.parameters()).new_empty(0), None, None)[3:]
        weights = [(name, tensor.detach().float().contiguous()) for name, tensor in zip(self._names[3:], tensors)]
        rates = {flag: self.config.get(key, 0) for flag, key in self._rate_flags.items()}
        flags = rates | self.flags | {flag: each.unit for flag, each in zip(self._unit_flags, vocabularies)}
        getattr(_extension, f"save_{self.name}")(
            file, json.dumps(config), weights, json.dumps(flags), *(each._known for each in vocabularies))

    def _tokens(self, name, tokens):
        """Tokens as numbers of the parameters' precision, in which the library takes them."""
        if not isinstance(tokens, torch.Tensor):
            raise TypeError(f"{self.name}: {name} is {type(tokens).__name__}, expected a torch.Tensor")
        if tokens.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{self.name}: {name} is {tokens.dtype}, expected torch.int64")
        double = next(self.parameters()).dtype is torch.float64
        return tokens.to(torch.float64 if double else torch.float32)

    @torch.no_grad()
    def _generate(self, tokens, source, key_padding_mask, options):
        tensors = self._tensors(tokens, None, source)
        if options["seed"] is None:
            options["seed"] = int(inputs.draw_seed())
        checked = {name: _checked(name, value) for name, value in options.items()}
        mask, _ = self._masks(tokens if source is None else source, key_padding_mask, None)
        return extension(tensors[0]).generate(
            self.name, self._text, tensors, mask, checked, inputs.precision(), inputs.threads())


_whole_numbers = {"length", "top_k", "repetition_window", "seed", "mem_len", "positions", "max_length",
                  "begin", "end", "beam"}
_most = {"seed": 2**64 - 1, "begin": 2**31 - 1, "end": 2**31 - 1}


def _checked(name, value):
    """An option of `generate` as the library takes it."""
    if name == "stop":
        return [[inputs.count("generate", name, each, 2**31 - 1) for each in one] for one in value]
    if name in _whole_numbers:
        return inputs.count("generate", name, value, _most.get(name, 2**63 - 1))
    return inputs.number("generate", name, value)


def _check_kind(name, value, kinds, expected):
    if not isinstance(value, kinds):
        raise TypeError(f"generate: {name} is {inputs.shown(value)}, expected {expected}")


def _stops(stop, as_text):
    """A list of the endings: of a text or of tokens, one or several."""
    one = (str, bytes) if as_text else torch.Tensor
    each = one if as_text else (torch.Tensor, list, tuple)
    if isinstance(stop, one):
        return [stop]
    if isinstance(stop, (list, tuple)):
        if all(isinstance(part, each) for part in stop):
            return stop
        if not as_text and not any(isinstance(part, each) for part in stop):
            return [stop]
    kind = "a str or bytes" if as_text else "tokens"
    raise TypeError(f"generate: stop is {inputs.shown(stop)}, expected {kind}, as the prompt is, or a list of several")


class LanguageModel(_Model):
    """A model that gives the logits of the token after each token, as char_lm trains it.

    sg.load gives a trained one; sg.layer("language_model", vocab_size=…, …) one to train.
    """

    _inputs, _vocabularies = ("tokens", "memory", "context"), ("vocabulary",)
    _unit_flags, _rate_flags = ("vocab",), {"dropout": "dropout", "dropatt": "attention_dropout"}
    #: What the tokens stand for, in a loaded model.
    vocabulary: Vocabulary | None = None
    #: Earlier tokens that `generate` sees, and positions that it uses; None for all.
    mem_len: int | None = None
    positions: int | None = None

    def __init__(self, name, config, parameters=None, copy_values=True):
        super().__init__(name, config, parameters, copy_values)
        # By whether the hidden state stands behind the logits, and the memory behind that.
        self._texts = {(hidden, memory): inputs.config_text(name, self.config | {
            key: True for key, asked in (("return_hidden", hidden), ("return_memory", memory)) if asked})
            for hidden in (False, True) for memory in (False, True)}

    def forward(
        self, tokens: torch.Tensor, memory: torch.Tensor | None = None, mem_len: int | None = None,
        key_padding_mask: torch.Tensor | None = None, attention_mask: torch.Tensor | None = None, *,
        return_hidden: bool = False, need_weights: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Returns the logits [B, T, V] for tokens [B, T].

        memory [L, B, M, C] has the inputs of the L blocks for M earlier tokens, a constant. Masks are as a
        layer's. What else is asked for stands behind the logits, in this order: with return_hidden, what the
        output layer reads [B, T, C], with its gradient; with a mem_len, the memory of the last mem_len
        tokens, for the next call; with need_weights, the weights of the keys [L, B, H, T, K], of AFT
        [L, B, T, K, C], constants before dropout, in memory of their size.
        """
        x, masks = self._tokens("tokens", tokens), (key_padding_mask, attention_mask)
        inputs.flag(self.name, "return_hidden", return_hidden)
        inputs.flag(self.name, "need_weights", need_weights)
        keeps = mem_len is not None
        if keeps:
            mem_len = inputs.count(self.name, "mem_len", mem_len)
        L, C, V = (self.config[key] for key in ("n_layer", "d_model", "vocab_size"))
        y = self._call(self._texts[bool(return_hidden), keeps], x, memory, None, *masks)
        result = [self._cast(y[..., :V] if return_hidden or keeps else y, x)]
        if return_hidden:
            result.append(y[..., V:V + C])
        if keeps:
            made = y.detach()[..., -L * C:].unflatten(-1, (L, C)).movedim(2, 0)  # [L, B, T, C]
            seen = made if memory is None else torch.cat([memory.detach().to(made.dtype), made], 2)
            result.append(seen[:, :, max(0, seen.shape[2] - mem_len):].contiguous())
        if need_weights:
            result.append(torch.stack(self._weights(x, memory, None, *masks)))
        return result[0] if len(result) == 1 else tuple(result)

    def step(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Returns the logits [B, T, V] for tokens [B, T] after all in the state, and the state with them.

        Without gradients; the parameters must not change between calls.
        """
        return super().step(self._tokens("tokens", tokens), state)

    def generate(
        self, prompt: _Text, length: int = 500, *, temperature: float = 0.8, top_k: int = 0,
        top_p: float = 1.0, min_p: float = 0.0, repetition_penalty: float = 1.0, repetition_window: int = 64,
        seed: int | None = None, stop: _Text | Sequence[_Text] | None = None, mem_len: int | None = None,
    ) -> _Text:
        """Returns what follows the prompt, as `char_lm generate` with the same flags writes it.

        A prompt of str gives a str, of bytes gives bytes, of tokens [T] gives tokens. The seed comes from
        torch's generator unless given. `stop`, of the same type or a list of them, ends the text where one of
        them is written.
        """
        as_text = isinstance(prompt, (str, bytes))
        _check_kind("prompt", prompt, (str, bytes, torch.Tensor), "a str, bytes or a torch.Tensor")
        stops = [] if stop is None else _stops(stop, as_text)
        if as_text and self.vocabulary is None:
            raise ValueError(f"{self.name}: a text for a model without a vocabulary, expected tokens")
        tokens = self.vocabulary.encode(prompt) if as_text else prompt
        stops = [self.vocabulary.encode(each) if as_text else each for each in stops]
        stops = [list(torch.atleast_1d(each) if isinstance(each, torch.Tensor) else each) for each in stops]
        options = {
            "length": length, "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p,
            "repetition_penalty": repetition_penalty, "repetition_window": repetition_window,
            "seed": seed, "stop": [each for each in stops if each],
        }
        mem_len = self.mem_len if mem_len is None else mem_len
        options |= {} if mem_len is None else {"mem_len": mem_len}
        options |= {} if self.positions is None else {"positions": self.positions}
        tokens = self._tokens("prompt", tokens)
        if tokens.dim() != 1:
            raise ValueError(f"generate: prompt {list(tokens.shape)}, expected [T]")
        made, = self._generate(tokens[None], None, None, options)
        if not as_text:
            return torch.tensor(made, dtype=torch.int64, device="cpu")
        return (self.vocabulary.decode if isinstance(prompt, str) else self.vocabulary.decode_bytes)(made)


class EncoderDecoder(_Model):
    """A model that gives the logits of a target's next tokens, given a source, as seq2seq trains it.

    sg.load gives a trained one; sg.layer("encoder_decoder", source_vocab_size=…, …) one to train.
    """

    _inputs = ("target", "memory", "source")
    _vocabularies = "source_vocabulary", "target_vocabulary"
    _unit_flags, _rate_flags = ("source_tokens", "target_tokens"), {"dropout": "dropout"}
    #: What the tokens of either side stand for, in a loaded model.
    source_vocabulary: Vocabulary | None = None
    target_vocabulary: Vocabulary | None = None
    #: The tokens that begin and end a target.
    begin, end = _extension.target_ends

    def forward(
        self, source: torch.Tensor, target: torch.Tensor, key_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Returns the logits [B, T, V] for targets [B, T], which start with `begin`, of sources [B, S].

        key_padding_mask [B, S] is true where a source is padded.
        """
        x, source = self._tokens("target", target), self._tokens("source", source)
        return self._cast(self._call(self._text, x, None, source, key_padding_mask), x)

    def start(self, source: torch.Tensor, key_padding_mask: torch.Tensor | None = None) -> State:
        """Returns a state before the first token of the targets of these sources, for `step`."""
        state = super().start()
        # The first step reads them, so they are copies.
        state.source = self._tokens("source", source)
        mask = inputs.check_padding(self.name, key_padding_mask, state.source)
        state.mask = None if mask is None else mask.clone()
        return state

    def step(self, target: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Returns the logits [B, T, V] for targets [B, T] after all in the state, and the state with them.

        Without gradients; the parameters must not change between calls.
        """
        self._check_state(state)
        return super().step(self._tokens("target", target), state, state.mask, context=state.source)

    def generate(
        self, source: str | bytes | list[str] | torch.Tensor, *, beam: int = 4, length_penalty: float = 0.6,
        temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0, seed: int | None = None,
        max_length: int = 100, key_padding_mask: torch.Tensor | None = None,
    ) -> str | list[str] | list[torch.Tensor]:
        """Returns the target of a source, as `seq2seq translate` with the same flags writes it.

        A str gives a str, a list of str a list. Sources of tokens [B, S] give a list of tokens [T], without
        `begin` and `end`. The seed, for a temperature above 0, comes from torch's generator unless given.
        """
        if isinstance(source, (str, bytes)):
            return self.generate(
                [source], beam=beam, length_penalty=length_penalty, temperature=temperature, top_k=top_k,
                top_p=top_p, seed=seed, max_length=max_length)[0]
        _check_kind("source", source, (list, torch.Tensor), "a str, bytes, a list of these or a torch.Tensor")
        as_text = isinstance(source, list)
        if as_text:
            for each in source:
                _check_kind("a source", each, (str, bytes), "a str or bytes")
            source, key_padding_mask = self._padded(source)
        tokens = self._tokens("source", source)
        if tokens.dim() != 2:
            raise ValueError(f"generate: source {list(tokens.shape)}, expected [B, S]")
        options = {
            "beam": beam, "length_penalty": length_penalty, "temperature": temperature, "top_k": top_k,
            "top_p": top_p, "seed": seed, "max_length": max_length, "begin": self.begin, "end": self.end,
        }
        made = self._generate(tokens[:, :0], tokens, key_padding_mask, options)
        if not as_text:
            return [torch.tensor(target, dtype=torch.int64, device="cpu") for target in made]
        return [self.target_vocabulary.decode(target) for target in made]

    def _padded(self, lines):
        """The tokens [B, S] of lines of text, and where they are padded."""
        if self.source_vocabulary is None:
            raise ValueError(f"{self.name}: a text for a model without a vocabulary, expected tokens")
        rows = [self.source_vocabulary.encode(line) for line in lines]
        if not rows:
            return torch.zeros(0, 1, dtype=torch.int64, device="cpu"), None
        lengths = torch.tensor([len(row) for row in rows], device="cpu")
        tokens = pad_sequence(rows, batch_first=True)
        return tokens, torch.arange(tokens.shape[1], device="cpu") >= lengths[:, None]


_models = {"language_model": LanguageModel, "encoder_decoder": EncoderDecoder}


def layer(name: str, **config: Any) -> Layer:
    """Returns the layer of that name: layer("relative_global_attention", d_model=256, n_head=4, max_seq=512)."""
    inputs.check_name(name)
    return _models.get(name, Layer)(name, config)


def load(run: str | os.PathLike[str]) -> LanguageModel | EncoderDecoder:
    """Returns the model that char_lm or seq2seq trained: a LanguageModel or an EncoderDecoder.

    `run` is the folder, for its best checkpoint, or one of the checkpoints in it. The model is in eval
    mode; in training it drops at the rates of its training. A run that a newer version wrote is read with a
    warning, as far as this one knows what is in it. Raises a ValueError that begins with the path
    where the file is missing, damaged, or of another kind.
    """
    read = _extension.load_run(inputs.path("load", "run", run))
    for note in read["notes"]:
        warnings.warn(note, stacklevel=2)
    model = _models[read["name"]](read["name"], read["config"], read["parameters"], copy_values=False)
    model.flags = json.loads(read["flags"])
    for name in ("vocabulary", "source_vocabulary", "target_vocabulary"):
        if name in read:
            setattr(model, name, Vocabulary(*read[name]))
    for name in ("mem_len", "positions"):
        if name in read:
            setattr(model, name, read[name])
    return model.eval()
