"""Every mixer and block of the library as a torch.nn.Module."""

import copy
import json
import weakref

import torch

from shiftgrad import _extension

from . import inputs
from .hints import hinted
from .operator import call, extension
from .parts import Part, add_parts, parameter_in_place, shapes
from .watchers import refuse_records

# Their outputs are sums with x, so autocast leaves them the dtype of x, as it does for torch's.
_keeps_dtype = {
    "transformer_block", "r_transformer_block", "encoder_decoder_block", "rel_shift", "shift_right"}


def _norm_eps(name, config):
    """That of the norms in a layer, or None where they are not torch's."""
    if "r_transformer_block" in (name, config.get("block")):
        return None
    return config.get("norm_eps", 1e-5)


def _check_pairs(parameters):
    if parameters is not None and not (isinstance(parameters, list) and all(
            isinstance(each, tuple) and len(each) == 2 and isinstance(each[1], torch.Tensor) for each in parameters)):
        raise TypeError(f"Layer: parameters is {inputs.shown(parameters)}, expected a list of pairs of a name and a "
                        "torch.Tensor")


class State:
    """What a layer remembers of the tokens that it has seen. copy.deepcopy copies it."""

    def __init__(self, owner, stream, source=None, mask=None):
        self.owner, self.stream = owner, stream
        # An encoder-decoder's, with the mask of its padding.
        self.source, self.mask = source, mask

    def __copy__(self):
        return State(self.owner, copy.copy(self.stream), self.source, self.mask)

    def __deepcopy__(self, _):
        return copy.copy(self)


class Layer(Part):
    """A layer of the library, with the parameters of a torch.nn.Module.

    They start from torch's seed, in torch's default dtype, and have the names and shapes of the
    library's own files. In training, those that have dropout or attention_dropout in their config
    drop at these rates.
    """

    # Names of the inputs, in errors.
    _inputs = ("x", "memory", "context")

    def __init__(self, name, config, parameters=None, copy_values=True):
        """`parameters` are pairs of name and values to start from, in the library's order.

        Without copy_values, values of the right type are the layer's own from then on.
        """
        super().__init__()
        inputs.check_name(name)
        _check_pairs(parameters)
        self.name, self.config = name, inputs.plain(copy.deepcopy(config))
        config = self.config
        self._text = inputs.config_text(name, config)
        self._drops = any(config.get(rate) for rate in ("dropout", "attention_dropout"))
        dtype = torch.get_default_dtype()
        like = torch.empty(0, dtype=dtype if dtype is torch.float64 else torch.float32, device="cpu")
        if parameters is None:
            try:
                parameters = extension(like).initial_parameters(name, self._text, int(inputs.draw_seed()))
            except ValueError as refusal:
                raise ValueError(hinted(str(refusal))) from None
        add_parts(self, [(path, torch.nn.Parameter(values.to(like.dtype, copy=copy_values)))
                         for path, values in parameters], _norm_eps(name, config))
        # Where the parameters are, in the library's order.
        self._names = [*self._inputs, *(path for path, _ in parameters)]
        self._paths = [(path.split(".")[:-1], path.split(".")[-1]) for path, _ in parameters]

    def extra_repr(self):
        config = json.loads(_extension.float32.described(self.name, self._text))
        lines = [", ".join([repr(self.name), *(f"{key}={value!r}" for key, value in config.items())]), shapes(self)]
        return "\n".join(filter(None, lines))

    def _tensors(self, x, memory, context):
        """What the library takes: the inputs, memory as a constant, and the parameters."""
        tensors = [x, memory.detach() if isinstance(memory, torch.Tensor) else memory, context]
        for owners, leaf in self._paths:
            module = self
            for owner in owners:
                module = module._modules[owner]
            tensors.append(getattr(module, leaf) if isinstance(module, Part) else parameter_in_place(
                f"{self.name}: {'.'.join(owners)}", module, leaf))
        if inputs.autocast() is not None:
            tensors = [inputs.cast(tensor) for tensor in tensors]
        inputs.check(self.name, self._names, tensors)
        return tensors

    def _masks(self, x, key_padding_mask, attention_mask):
        return [inputs.check_padding(self.name, key_padding_mask, x),
                inputs.check_mask(self.name, "attention_mask", attention_mask)]

    def _cast(self, y, x):
        """The output as a layer of torch would give it under autocast."""
        dtype = inputs.autocast()
        if dtype is None or y.dtype is torch.float64:
            return y
        return y.to(x.dtype if self.name in _keeps_dtype else dtype)

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor | None = None, key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None, context: torch.Tensor | None = None, *, need_weights: bool = False,
        average_attn_weights: bool = True,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Returns y [B, T, C] for x [B, T, C], with gradients for x, context and the parameters.

        memory [B, M, C] is earlier input, a constant. key_padding_mask [B or 1, M + T] and attention_mask
        [T, M + T] or [B or 1, T, M + T] are true where keys are hidden. context [B, S, C] is for
        cross-attention. With need_weights, the result is y and the weights of the keys, in memory of their
        size: their mean over the heads [B, T, K], or with average_attn_weights=False [B, H, T, K], of AFT
        over the channels [B, T, K, C]. They are those before dropout, and constants.
        """
        masks = key_padding_mask, attention_mask
        if need_weights is not False or average_attn_weights is not True:
            need_weights = inputs.flag(self.name, "need_weights", need_weights)
            average_attn_weights = inputs.flag(self.name, "average_attn_weights", average_attn_weights)
        y = self._cast(self._call(self._text, x, memory, context, *masks), x)
        if not need_weights:
            return y
        weights, = self._weights(x, memory, context, *masks)
        is_aft = "aft" in (self.name, self.config.get("mixer", {}).get("type"))
        return y, weights.mean(3 if is_aft else 1) if average_attn_weights else weights

    @torch.compiler.disable
    @torch.no_grad()
    def _weights(self, x, memory, context, key_padding_mask, attention_mask):
        """The weights of each attention in the layer."""
        tensors = self._tensors(x, memory, context)
        refuse_records(self.name, tensors, "weights of attention are constants, so they")
        weights = extension(tensors[0]).attention_weights(
            self.name, self._text, tensors, *self._masks(x, key_padding_mask, attention_mask), inputs.precision(),
            inputs.threads())
        if not weights and not x.numel():
            raise ValueError(f"{self.name}: need_weights of x {list(x.shape)}, expected at least one token")
        if not weights:
            raise ValueError(f"{self.name}: has no attention, so there are no weights to return")
        return weights

    def _call(self, text, x, memory=None, context=None, key_padding_mask=None, attention_mask=None):
        """The output of the layer that has this text as its config."""
        tensors = self._tensors(x, memory, context)
        seed = inputs.draw_seed() if self._drops and self.training else None
        return call(tensors, *self._masks(x, key_padding_mask, attention_mask), seed, self.name, text,
                    inputs.precision())

    def start(self, limit: int | None = None) -> State:
        """Returns a state that has seen nothing, for `step`; it keeps at most `limit` tokens."""
        like = next(self.parameters(), None)
        like = torch.empty(0, dtype=torch.float32, device="cpu") if like is None else like
        inputs.check(self.name, ["a parameter"], [like])
        limit = None if limit is None else inputs.count(self.name, "limit", limit)
        return State(weakref.ref(self), extension(like).Stream(self.name, self._text, limit))

    def step(
        self, x: torch.Tensor, state: State | None = None, key_padding_mask: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None, context: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, State]:
        """Returns y [B, T, C] for x after all tokens in the state, and the state, which now has x too.

        Without gradients; the parameters must not change between calls.
        """
        return self._step(x, self.start() if state is None else state, key_padding_mask, attention_mask, context)

    def _check_state(self, state):
        if not isinstance(state, State):
            raise TypeError(
                f"{self.name}: the state is {type(state).__name__}, expected what start() of this module gave")

    @torch.compiler.disable
    @torch.no_grad()
    def _step(self, x, state, key_padding_mask, attention_mask, context):
        tensors = self._tensors(x, None, context)
        refuse_records(self.name, tensors)
        self._check_state(state)
        if state.owner() is not self:
            raise ValueError(
                f"{self.name}: a state of another module; use the one that start() of this module gave")
        if not isinstance(state.stream, extension(tensors[0]).Stream):
            raise TypeError(
                f"{self.name}: the state was started in another dtype than {tensors[0].dtype}")
        y = state.stream.step(
            tensors, *self._masks(x, key_padding_mask, attention_mask), inputs.precision(),
            inputs.threads())
        return self._cast(y, x), state
