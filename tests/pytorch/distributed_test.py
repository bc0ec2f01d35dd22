"""The layers in PyTorch's distributed training, in one process and in two: DDP, and FSDP2, which frees the
parameters after the forward pass and gathers them again, elsewhere, for the backward pass."""

import copy
import tempfile
import traceback
import unittest

import torch
from torch import distributed, nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import shiftgrad.torch as sg

WIDTH, STEPS = 64, 3


def layers():
    mixer = {"type": "multi_head_attention", "d_model": WIDTH, "n_head": 4, "causal": False}
    yield "transformer_block", lambda: sg.layer("transformer_block", mixer=mixer, d_inner=WIDTH, norm_first=False)
    yield "transformer_xl_attention", lambda: sg.layer("transformer_xl_attention", d_model=WIDTH, n_head=4)
    yield "nn.TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(WIDTH, 4, WIDTH, dropout=0, batch_first=True)


def with_ddp(model):
    return DistributedDataParallel(model)


def with_fsdp(model):
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)


def losses(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in batches:
        loss = (model(x) - x.roll(1, dims=1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        distributed.all_reduce(mean)
        yield mean.item() / distributed.get_world_size()


def work(rank, size, meeting, failures):
    """Trains on this process's part of each batch; both processes together must do as one would."""
    try:
        torch.set_num_threads(1)
        distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
        torch.manual_seed(1)
        batches = [torch.randn(4, 9, WIDTH) for _ in range(STEPS)]
        for name, make in layers():
            model = nn.Sequential(make(), make())
            alone = list(losses(copy.deepcopy(model), batches))
            for way in (with_ddp, with_fsdp):
                wrapped = way(copy.deepcopy(model))
                together = list(losses(wrapped, [batch.chunk(size)[rank] for batch in batches]))
                torch.testing.assert_close(
                    together, alone, msg=lambda text: f"{name}, {way.__name__}, {size} processes: {text}")
        distributed.destroy_process_group()
    except Exception:
        failures.put(traceback.format_exc())


class Distributed(unittest.TestCase):
    def test_training_is_that_of_one_process(self):
        spawn = torch.multiprocessing.get_context("spawn")
        for size in (1, 2):
            with self.subTest(size=size), tempfile.TemporaryDirectory() as folder:
                failures = spawn.SimpleQueue()
                processes = [spawn.Process(target=work, args=(rank, size, folder + "/meeting", failures))
                             for rank in range(size)]
                for process in processes:
                    process.start()
                for process in processes:
                    process.join(200)
                    process.kill()  # those whose peer has failed wait for it
                    process.join()
                self.assertTrue(failures.empty(), None if failures.empty() else failures.get())
                self.assertEqual([process.exitcode for process in processes], [0] * size)


if __name__ == "__main__":
    unittest.main()
