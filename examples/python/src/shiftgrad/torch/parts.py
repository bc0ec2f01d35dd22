"""The parts of a layer, as torch.nn.Modules that hold its parameters.

The library computes a layer as a whole, from the parameters alone, so it never calls a part. What a part could
only do if it were called, it refuses by name: hooks, a mode of its own, another module in its place.
"""

import torch

_reads = "the layer reads the parameters of its parts and never calls them"
_instead = "hooks on the whole layer work, and return_hidden or need_weights of its call"
_hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Part(torch.nn.Module):
    """A layer, or a part of one."""

    #: The name of the layer whose part it is, with the path in it, or None for a layer as a whole.
    _place: str | None = None

    def train(self, mode: bool = True):
        """Sets the mode of the whole layer, with all of its parts, as dropout has but one rate in it."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode is {mode!r}, expected a bool")
        if self._place is not None and mode is not self.training:
            raise RuntimeError(f"{self._place} has no mode of its own: {_reads}; call train() or eval() of the layer")
        for module in self.modules():
            module.training = mode
        return self

    def add_module(self, name, module):
        self._check_module(name, module)
        super().add_module(name, module)

    def register_parameter(self, name, param):
        if self._place is not None and param is not None and name not in self._leaves:
            raise TypeError(f"{self._place} has no {name}, so a new one would change nothing: {_reads}; "
                            "torch.nn.utils.parametrize of what it has works")
        super().register_parameter(name, param)

    def __setattr__(self, name, value):
        if name == "forward" and self._place is not None:
            raise RuntimeError(f"{self._place} takes no other forward: {_reads}; a forward of the whole layer's works")
        self._check_module(name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self._check_module(name, None)
        super().__delattr__(name)

    def _check_module(self, name, module):
        """Raises a TypeError where another module would take the place of a part."""
        known = self.__dict__.get("_modules", {}).get(name)
        if known is None or known is module:
            return
        part = original(known)
        if isinstance(part, Part) and part._place is not None:
            check_in_place(part._place, part, module)


def _refused(method):
    registers = getattr(torch.nn.Module, method)

    def register(self, *arguments, **named):
        if self._place is not None:
            raise RuntimeError(f"{self._place} takes no hooks: {_reads}; {_instead}")
        return registers(self, *arguments, **named)

    register.__name__, register.__doc__ = method, registers.__doc__
    return register


for _method in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
                "register_full_backward_pre_hook", "register_backward_hook"):
    setattr(Part, _method, _refused(_method))


def shapes(module):
    """The names and shapes of a module's own parameters, to print."""
    return ", ".join(f"{name} {list(each.shape)}" for name, each in module._parameters.items() if each is not None)


class Group(Part):
    """A part that has others, or parameters of a kind that torch has no module for."""

    def forward(self, *_, **__):
        raise RuntimeError(f"{self._place or type(self).__name__} cannot be called alone; a block or a mixer that "
                           f"sg.layer makes can, and takes this one's state_dict; {_instead}")

    def extra_repr(self):
        return shapes(self)


class Blocks(Group, torch.nn.ModuleList):
    """The blocks of a model, by their numbers."""

    def __getitem__(self, number):
        if isinstance(number, slice):
            return torch.nn.ModuleList(list(self)[number])
        return super().__getitem__(number)

    def append(self, _):
        raise TypeError(f"{self._place} takes no more blocks; their number is in the config of the model")

    extend = append

    def insert(self, _, module):
        self.append(module)


class Linear(Part, torch.nn.Linear):
    def __init__(self, weight, bias=None):
        torch.nn.Module.__init__(self)
        self.out_features, self.in_features = weight.shape
        self.weight = weight
        self.register_parameter("bias", bias)


class Embedding(Part, torch.nn.Embedding):
    def __init__(self, weight):
        torch.nn.Module.__init__(self)
        self.num_embeddings, self.embedding_dim = weight.shape
        self.padding_idx = self.max_norm = None
        self.norm_type, self.scale_grad_by_freq, self.sparse = 2.0, False, False
        self.weight = weight


class LayerNorm(Part, torch.nn.LayerNorm):
    def __init__(self, weight, bias, eps):
        torch.nn.Module.__init__(self)
        self.normalized_shape, self.eps, self.elementwise_affine = tuple(weight.shape), eps, True
        self.weight, self.bias = weight, bias


def _made(name, own, eps):
    """The part of that name with these parameters of its own."""
    rank = {leaf: each.dim() for leaf, each in own.items()}
    if rank == {"weight": 2} and name.endswith("embedding"):
        return Embedding(**own)
    if rank in ({"weight": 2}, {"weight": 2, "bias": 1}):
        return Linear(**own)
    if rank == {"weight": 1, "bias": 1} and eps is not None:
        return LayerNorm(**own, eps=eps)
    part = Group()
    for leaf, each in own.items():
        part.register_parameter(leaf, each)
    return part


def add_parts(layer, parameters, eps):
    """Gives a layer its parameters, pairs of a path and a Parameter, in parts of these names.

    `eps` is that of its norms, or None where they are not torch's.
    """
    owned = {}
    for path, value in parameters:
        owner, _, leaf = path.rpartition(".")
        owned.setdefault(owner, {})[leaf] = value
    for owner, own in owned.items():
        module, names = layer, owner.split(".") if owner else []
        for name, after in zip(names, [*names[1:], ""]):
            if name not in module._modules:
                part = Blocks() if after.isdigit() else Group() if after else _made(name, own, eps)
                module.add_module(name, part)
                own = own if after else {}
            module = module._modules[name]
        for leaf, value in own.items():
            module.register_parameter(leaf, value)
    for path, part in layer.named_modules():
        part._leaves = [leaf for leaf, each in part._parameters.items() if each is not None]
        part._place = f"{layer.name}: {path}" if path else None


# What else may stand in the place of a part, since the layer can read its parameters.

def _is_lora(module):
    return type(module).__name__ == "Linear" and type(module).__module__ == "peft.tuners.lora.layer"


def original(module):
    """The part below the adapters of peft."""
    while _is_lora(module):
        module = module.base_layer
    return module


def check_in_place(place, part, module):
    """Raises a TypeError unless a module computes as this part, whatever its parameters, so that these can be read."""
    given = original(module)
    kind = next(each for each in type(part).__mro__ if each.__module__.startswith("torch.nn.modules"))
    alike = type(given) in (type(part), kind) and kind.extra_repr(given) == kind.extra_repr(part)
    if kind is torch.nn.Module or kind is torch.nn.ModuleList or not alike:
        what = "no module" if module is None else f"a {type(module).__name__}({module.extra_repr()})" if isinstance(
            module, torch.nn.Module) else type(module).__name__
        fits = f"torch.nn.{kind.__name__}({kind.extra_repr(part)}), a LoRA of peft and " if isinstance(
            part, Linear) else ""
        raise TypeError(f"{place} cannot be replaced by {what}: {_reads}; {fits}torch.nn.utils.parametrize work")


def parameter_in_place(place, module, leaf):
    """A parameter of a module that stands in the place of a part."""
    if _is_lora(module):
        return _with_lora(place, module, leaf)
    if isinstance(module, Part):
        return getattr(module, leaf)
    if any(getattr(module, each) for each in _hooks):
        raise RuntimeError(f"{place} takes no hooks: {_reads}; {_instead}")
    value = getattr(module, leaf, None)
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{place} is a {type(module).__name__} without the parameter {leaf}: {_reads}")
    return value


def _with_lora(place, lora, leaf):
    """The parameter that a LoRA of peft makes of that below it."""
    value = parameter_in_place(place, lora.base_layer, leaf)
    if lora.disable_adapters and lora.merged:
        lora.unmerge()
    if leaf != "weight" or lora.disable_adapters or lora.merged:
        return value
    for name in lora.active_adapters:
        if name not in lora.lora_A:
            continue
        dropout = lora.lora_dropout[name]
        if getattr(dropout, "p", 0) and dropout.training or name in lora.lora_variant or lora.lora_bias.get(name):
            raise TypeError(f"{place} takes no lora_dropout, lora_bias or variant such as DoRA: {_reads}; "
                            "a plain LoRA works")
        value = value + lora.get_delta_weight(name)
    return value
