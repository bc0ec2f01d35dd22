"""Gradients where PyTorch gives tensors other memory, or other tensors, between forward and backward.

Each is compared with the gradient where nothing moves, and so is that of nn.TransformerEncoderLayer, which
shows that PyTorch promises as much.
"""

import io
import unittest
from unittest import mock

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import shiftgrad.torch as sg
from shiftgrad.torch import operator

WIDTHS = 64, 512


def ours(width):
    mixer = {"type": "multi_head_attention", "d_model": width, "n_head": 4, "causal": False}
    return sg.layer("transformer_block", mixer=mixer, d_inner=width, norm_first=False)


def theirs(width):
    return nn.TransformerEncoderLayer(width, 4, width, dropout=0, batch_first=True)


def to_parameters(layer, x, y):
    parameters = list(layer.parameters())
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(parameters), parameters)


def to_clones(layer, x, y):
    for parameter in layer.parameters():
        parameter.data = parameter.data.clone()


def one_to_a_clone(layer, x, y):
    last = list(layer.parameters())[-3]
    last.data = last.data.clone()


def through_double(layer, x, y):
    layer.double().float()


def to_shared_memory(layer, x, y):
    layer.share_memory()


def freed_and_back(layer, x, y):
    """What FSDP does to the parameters that it has gathered."""
    values = [parameter.detach().clone() for parameter in layer.parameters()]
    sizes = [parameter.untyped_storage().nbytes() for parameter in layer.parameters()]
    for parameter in layer.parameters():
        parameter.untyped_storage().resize_(0)
    kept = [torch.full_like(each, 1e30) for each in values]
    for parameter, size, value in zip(layer.parameters(), sizes, values):
        parameter.untyped_storage().resize_(size)
        parameter.data.copy_(value)
    del kept


def the_input(layer, x, y):
    x.data = x.data.clone()


def the_output(layer, x, y):
    y.data = y.data.clone()


MOVES = (to_parameters, to_clones, one_to_a_clone, through_double, to_shared_memory, freed_and_back,
         the_input, the_output)


def through_bytes(pack_if):
    """Hooks that keep some of the saved tensors as a file would."""
    def pack(tensor):
        if not pack_if(tensor):
            return tensor
        file = io.BytesIO()
        torch.save(tensor, file)
        return file

    def unpack(packed):
        return torch.load(io.BytesIO(packed.getvalue())) if isinstance(packed, io.BytesIO) else packed

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


HOOKS = {
    "all": lambda: through_bytes(lambda tensor: True),
    "large ones": lambda: through_bytes(lambda tensor: tensor.numel() > 1000),
    "floats": lambda: through_bytes(lambda tensor: tensor.is_floating_point()),
    "small ones": lambda: through_bytes(lambda tensor: tensor.numel() < 1000),
    "save_on_cpu": torch.autograd.graph.save_on_cpu,
}


def gradients(layer, x, y):
    """Those of x and of the parameters, in memory of their own."""
    leaves = [x, *layer.parameters()]
    for leaf in leaves:
        leaf.grad = None
    y.pow(2).sum().backward()
    return [leaf.grad.clone() for leaf in leaves]


class Moved(unittest.TestCase):
    def each_layer(self, check):
        for width in WIDTHS:
            for make in (ours, theirs):
                with self.subTest(make.__name__, width=width):
                    torch.manual_seed(1)
                    layer, x = make(width), torch.randn(2, 9, width).requires_grad_()
                    check(layer, x, gradients(layer, x, layer(x)))

    def same(self, layer, got, expected):
        for name, a, b in zip(["x", *(name for name, _ in layer.named_parameters())], got, expected, strict=True):
            self.assertTrue(torch.equal(a, b), name)

    def test_memory_moves(self):
        for move in MOVES:
            def check(layer, x, expected):
                y = layer(x)
                move(layer, x, y)
                # What was freed is written over.
                garbage = [torch.full_like(leaf, 1e30) for leaf in (x, *layer.parameters())]
                self.same(layer, gradients(layer, x, y), expected)
                del garbage
            with self.subTest(move.__name__):
                self.each_layer(check)

    def test_hooks_on_saved_tensors(self):
        for name, hooks in HOOKS.items():
            def check(layer, x, expected):
                with hooks():
                    y = layer(x)
                self.same(layer, gradients(layer, x, y), expected)
            with self.subTest(name):
                self.each_layer(check)

    def test_what_hooks_keep_counts(self):
        for name in ("all", "floats"):
            def check(layer, x, expected):
                with HOOKS[name]():
                    y = layer(x)
                with torch.no_grad():
                    for leaf in (x, *layer.parameters()):
                        leaf.mul_(2)
                self.same(layer, gradients(layer, x, y), expected)
            with self.subTest(name):
                self.each_layer(check)

    def test_checkpoints(self):
        def check(layer, x, expected):
            for reentrant in (False, True):
                for move in (to_clones, freed_and_back):
                    y = checkpoint(layer, x, use_reentrant=reentrant)
                    move(layer, x, y)
                    self.same(layer, gradients(layer, x, y), expected)
        self.each_layer(check)

    def test_views_with_gaps_are_copies_of_their_own(self):
        q, k, v = (part.transpose(1, 2) for part in torch.randn(2, 9, 3, 4, 16).requires_grad_().unbind(2))
        for function in (sg.relative_attention, nn.functional.scaled_dot_product_attention):
            options = {"causal": False} if function is sg.relative_attention else {}
            y = function(q, k, v, **options)
            expected = torch.autograd.grad(y.pow(2).sum(), (q, k, v), retain_graph=True)
            for run_before in (True, False):
                if not run_before:
                    y = function(q, k, v, **options)
                for each in (q, k, v):
                    each.data = each.data.clone()
                got = torch.autograd.grad(y.pow(2).sum(), (q, k, v))
                for a, b in zip(got, expected):
                    torch.testing.assert_close(a, b)

    def test_memory_and_context(self):
        layer = sg.layer("encoder_decoder_block", d_inner=64, mixer={
            "type": "transformer_xl_attention", "d_model": 64, "n_head": 4})
        x, memory, context = (torch.randn(2, 9, 64) for _ in range(3))
        context.requires_grad_()
        expected = gradients(layer, context, layer(x, memory=memory, context=context))
        for moved in (x, memory, context):
            y = layer(x, memory=memory, context=context)
            moved.data = moved.data.clone()
            garbage = [torch.full_like(x, 1e30) for _ in range(9)]
            self.same(layer, gradients(layer, context, y), expected)
            del garbage

    def test_what_is_gone_is_named(self):
        for line, error, change in (
            ("qkv.weight is torch.float64, but|tensors", TypeError, lambda layer, x, y: layer.double()),
            ("mixer.qkv.weight has no memory", ValueError,
             lambda layer, x, y: layer.mixer.qkv.weight.untyped_storage().resize_(0)),
        ):
            layer, x = ours(64), torch.randn(2, 9, 64).requires_grad_()
            y = layer(x)
            change(layer, x, y)
            with self.assertRaisesRegex(error, f"^transformer_block: ({line})[^\n]*$"):
                torch.autograd.grad(y.sum(), x)
        with self.assertRaisesRegex(ValueError, "^transformer_block: mixer.qkv.weight has no memory[^\n]*$"):
            layer(x)

    def test_forward_runs_again_only_where_something_moved(self):
        def reruns(move=lambda *_: None, run=lambda layer, x: layer(x)):
            layer, x = ours(64), torch.randn(2, 9, 64).requires_grad_()
            with mock.patch.object(operator, "_checked_compute", wraps=operator._checked_compute) as again:
                y = run(layer, x)
                move(layer, x, y)
                gradients(layer, x, y)
            return again.call_count

        self.assertEqual(reruns(), 0)
        for reentrant in (False, True):
            self.assertEqual(reruns(run=lambda layer, x: checkpoint(layer, x, use_reentrant=reentrant)), 0)
        self.assertEqual(reruns(run=lambda layer, x: torch.compile(layer, backend="aot_eager")(x)), 0)
        # An output is saved as a tensor of its own.
        self.assertEqual([reruns(move) for move in MOVES], [move is not the_output for move in MOVES])


class Steps(unittest.TestCase):
    def test_a_state_survives_the_move_of_parameters(self):
        for name, config in (("transformer_xl_attention", {"n_head": 4}), ("local_rnn", {"window": 4, "cell": "gru"})):
            layer = sg.layer(name, d_model=64, **config)
            x, pieces, state = torch.randn(1, 12, 64), [], None
            for n, token in enumerate(x.split(1, dim=1)):
                y, state = layer.step(token, state)
                pieces.append(y)
                (to_clones, freed_and_back)[n % 2](layer, x, y)
            torch.testing.assert_close(torch.cat(pieces, 1), layer(x).detach())


if __name__ == "__main__":
    unittest.main()
