"""What attentions of transformers are told by masks and positions, after sg.accelerate: read as their own code does."""

import copy
import unittest

import torch
from fresh_models import *  # which lacks what transformers lacks

import shiftgrad.torch as sg

lowest = torch.finfo(torch.float64).min


def pair(module):
    """A module as it is, and one that is accelerated."""
    ours = copy.deepcopy(module)
    sg.accelerate(ours)
    return module, ours


def written_by_data(mask, change):
    change(mask.data)


def written_by_numpy(mask, change):
    change(torch.from_numpy(mask.numpy()))


def written(mask, change):
    change(mask)


@unittest.skipIf(missing, f"{missing}")
class Masks(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        torch._dynamo.reset()
        self.x = randn(B, T, C)

    def same(self, got, expected):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-8)

    def attentions(self):
        """Attentions of each way to read a mask, a call, a mask and a change of it."""
        x, causal = self.x, torch.ones(T, T).triu(1).double()

        def hide(value):
            def change(mask):
                mask[..., -2:] = value
            return change

        table = deberta_model().encoder.get_rel_embedding().detach()
        position = {"cache_position": torch.arange(T)} if transformers.__version__.startswith("4.") else {}
        rows = randn(2 * T, 1, C).expand(2 * T, B, C)
        yield (bert_encoder().layers[0].self_attn, lambda module, mask: module(x, attention_mask=mask)[0],
               lambda: torch.zeros(B, 1, T, T).double(), hide(lowest))
        yield (t5_model().decoder.block[0].layer[0].SelfAttention, lambda module, mask: module(
            x, mask=mask, **position)[0], lambda: (lowest * causal).expand(B, 1, T, T).clone(), hide(lowest))
        yield (deberta_model().encoder.layer[0].attention.self, lambda module, mask: module(
            x, mask, rel_embeddings=table)[0], lambda: torch.ones(B, 1, T, T, dtype=torch.bool), hide(False))
        yield (xlnet_model(attn_type="bi").transformer.layer[0].rel_attn, lambda module, mask: module(
            x.transpose(0, 1), None, mask, None, rows, None)[0],
               lambda: torch.zeros(T, T, B, 1).double(), lambda mask: mask[:, -2:].fill_(1))

    def test_a_changed_mask_is_read_again(self):
        for mode, write in ((torch.inference_mode, written), (torch.inference_mode, written_by_numpy),
                            (torch.no_grad, written), (torch.no_grad, written_by_numpy),
                            (torch.no_grad, written_by_data)):
            for module, run, make, change in self.attentions():
                with self.subTest(type(module).__name__, mode=mode.__name__, write=write.__name__), mode(), in_double():
                    (theirs, ours), mask = pair(module), make()
                    with counted() as kernel:
                        first = run(ours, mask)
                        self.same(first, run(theirs, mask))
                        write(mask, change)
                        second = run(ours, mask)
                    self.assertEqual(kernel.call_count, 2)
                    self.assertGreater((second - first).abs().max().item(), 1e-3)
                    self.same(second, run(theirs, mask))

    def test_a_mask_of_numpy_is_read_again(self):
        theirs, ours = pair(bert_encoder().layers[0].self_attn)
        array = torch.zeros(B, 1, T, T).double().numpy().copy()
        mask = torch.from_numpy(array)
        for value in (0, lowest):
            array[..., -2:] = value
            self.same(ours(self.x, attention_mask=mask)[0], theirs(self.x, attention_mask=mask)[0])

    def test_changed_distances_are_read_again(self):
        theirs, ours = pair(deberta_model().encoder.layer[0].attention.self)
        table = deberta_model().encoder.get_rel_embedding().detach()
        for mode, write in ((torch.inference_mode, written), (torch.no_grad, written_by_numpy)):
            with mode():
                seen = torch.ones(B, 1, T, T, dtype=torch.bool)
                distances = deberta.build_relative_position(self.x, self.x, 4, 12)
                run = lambda module: module(self.x, seen, relative_pos=distances, rel_embeddings=table)[0]
                with counted() as kernel:
                    first = run(ours)
                    write(distances, lambda given: given.fill_(1))
                    second = run(ours)
                self.assertEqual(kernel.call_count, 1)
                self.assertGreater((second - first).abs().max().item(), 1e-3)
                self.same(second, run(theirs))

    def test_one_mask_may_be_read_in_two_ways(self):
        """What w2v-BERT adds, Parakeet takes for true where it is not 0."""
        mask = lowest * (torch.rand(B, 1, T, T) < 0.4).double()
        mask[..., 0], mask[..., 1] = 0, lowest  # so that each query sees something, either way
        rows = randn(1, 2 * T - 1, C).expand(B, -1, -1)
        for theirs, ours, run in (
            (*pair(bert_encoder().layers[0].self_attn), lambda module: module(self.x, attention_mask=mask)[0]),
            (*pair(parakeet_encoder().layers[0].self_attn), lambda module: module(self.x, rows, mask)[0]),
        ):
            self.same(run(ours), run(theirs))

    def test_a_mask_of_inference_mode_serves_a_training(self):
        theirs, ours = pair(bert_encoder().layers[0].self_attn)
        mask = (lowest * (~kept[:, None, None]).double()).expand(B, 1, T, T)
        with torch.inference_mode():
            ours(self.x, attention_mask=mask)
        for module in (theirs, ours):
            module(self.x, attention_mask=mask)[0].pow(2).sum().backward()
        self.same(ours.linear_k.weight.grad, theirs.linear_k.weight.grad)

    def test_a_mask_that_learns_gets_its_gradient(self):
        gradients = []
        for module in pair(bert_encoder().layers[0].self_attn):
            mask = torch.zeros(B, 1, T, T).double().requires_grad_()
            module(self.x, attention_mask=mask)[0].pow(2).sum().backward()
            gradients.append(mask.grad)
        self.same(*gradients)

    def test_xlnets_numbers_between_are_its_own(self):
        """A mask of XLNet that is no mask: 1e-30 of what would hide, and less than nothing."""
        theirs, ours = pair(xlnet_model(attn_type="bi").transformer.layer[0].rel_attn)
        rows = randn(2 * T, 1, C).expand(2 * T, B, C)
        for value, calls in ((1e-30, 0), (-1e-30, 0), (1.0, 1)):
            mask = torch.zeros(T, T, B, 1).double()
            mask[:, ::2] = value
            with counted() as kernel, torch.no_grad():
                self.same(*(module(self.x.transpose(0, 1), None, mask, None, rows, None)[0] for module in (ours, theirs)))
            self.assertEqual(kernel.call_count, calls)

    def test_xlnets_future_needs_rows(self):
        """One that looks back has no rows for keys that a mask shows in the future."""
        theirs, ours = pair(xlnet_model().transformer.layer[0].rel_attn)
        rows, mask = randn(T + 1, B, C), (torch.rand(T, T, B, 1) < 0.4).double()
        mask.diagonal().fill_(0)  # so that each query sees something
        ahead = torch.ones(T, T).triu(1).double()[..., None, None]
        run = lambda module, mask: module(self.x.transpose(0, 1), None, mask, None, rows, None)[0]
        for hidden, calls in ((mask, 0), (mask.maximum(ahead), B)):
            with counted() as kernel:
                self.same(run(ours, hidden), run(theirs, hidden))
            self.assertEqual(kernel.call_count, calls)
        compiled = torch.compile(lambda mask: run(ours, mask), backend="aot_eager")
        self.same(compiled(mask.maximum(ahead)), run(theirs, mask.maximum(ahead)))
        with self.assertRaisesRegex(ValueError, "^accelerate: a mask under torch.compile shows a key ahead of its query"):
            compiled(mask)

    def test_positions_of_t5_count(self):
        theirs, ours = pair(t5_model().decoder.block[0].layer[0].SelfAttention)
        if not transformers.__version__.startswith("4."):
            self.skipTest("this transformers takes no positions")
        for position, calls in ((torch.arange(T), 1), (torch.arange(T).clamp(max=T - 3), 0),
                                (torch.tensor([0, *range(T - 2, 0, -1), T - 1]), 0)):
            with counted() as kernel, in_double():
                self.same(*(module(self.x, mask=None, cache_position=position)[0] for module in (ours, theirs)))
            self.assertEqual(kernel.call_count, calls)
        run = torch.compile(lambda position: ours(self.x, mask=None, cache_position=position)[0], backend="aot_eager")
        with in_double():
            self.same(run(torch.arange(T)), theirs(self.x, mask=None, cache_position=torch.arange(T))[0])
            with self.assertRaisesRegex(ValueError, "^accelerate: a cache_position under torch.compile does not count"):
                run(torch.arange(T).clamp(max=T - 3))

    def test_a_soft_mask_under_compile_is_refused(self):
        """It would hide where it should weigh. A mask that hides is read when the graph runs."""
        hard, soft = torch.zeros(B, 1, T, T).double(), randn(B, 1, T, T)
        hard[..., -2:] = lowest
        theirs, ours = pair(bert_encoder().layers[0].self_attn)
        run = lambda module, mask: module(self.x, attention_mask=mask)[0]
        compiled = torch.compile(lambda mask: run(ours, mask), fullgraph=True)
        self.same(compiled(hard), run(theirs, hard))
        with self.assertRaisesRegex(ValueError, r"^accelerate: a mask under torch.compile has numbers other "
                                    r"than 0 and -1.7977e\+308, which the kernel cannot add to the score; "
                                    "without torch.compile the module's own code does$"):
            compiled(soft)
        self.same(compiled(hard), run(theirs, hard))
        rows = randn(2 * T, B, C)
        theirs, ours = pair(xlnet_model(attn_type="bi").transformer.layer[0].rel_attn)
        compiled = torch.compile(lambda mask: ours(self.x.transpose(0, 1), None, mask, None, rows, None)[0],
                                 backend="aot_eager")
        with self.assertRaisesRegex(ValueError, "than 0 and 1, which"):
            compiled(torch.full((T, T, B, 1), 0.5).double())

    def test_other_distances_under_compile_are_refused(self):
        theirs, ours = pair(deberta_model().encoder.layer[0].attention.self)
        table, seen = deberta_model().encoder.get_rel_embedding().detach(), torch.ones(B, 1, T, T, dtype=torch.bool)
        run = lambda module, distances: module(self.x, seen, relative_pos=distances, rel_embeddings=table)[0]
        compiled = torch.compile(lambda distances: run(ours, distances), backend="aot_eager")
        distances = deberta.build_relative_position(self.x, self.x, 4, 12)
        self.same(compiled(distances), run(theirs, distances))
        with self.assertRaisesRegex(ValueError, "^accelerate: a relative_pos under torch.compile has other distances"):
            compiled(distances.clamp(max=2))


if __name__ == "__main__":
    unittest.main()
