"""Whole models that char_lm and seq2seq have trained: their logits, gradients, states and texts in Python."""

import copy
import json
import os
import pickle
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn import functional

import shiftgrad.torch as sg

char_lm, seq2seq, run_model = (os.environ.get(name) for name in ("CHAR_LM", "SEQ2SEQ", "RUN_MODEL"))
old_run = Path(__file__).parents[1] / "support/data/old_run"

language_models = {
    "learned": "transformer",
    "layer_positions": "transformer --layer_positions true --norm_first false",
    "sinusoid": "transformer --position sinusoid --tie_embedding false",
    "rope": "transformer --position rope",
    "alibi": "transformer --position alibi --window 5",
    "transformer_xl": "transformer_xl",
    "xl_learned": "transformer_xl --position learned --activation relu",
    "xl_tied": "transformer_xl --tie_position_biases true --embedding_scale true",
    "music_transformer": "music_transformer",
    "aft_local": "aft",
    "aft_full": "aft --form full --factor_rank 2",
    "aft_simple": "aft --form simple",
    "aft_conv": "aft --form conv",
    "local_rnn": "local_rnn --cell lstm",
    "r_transformer": "r_transformer --rnn_layers 2",
    "characters": "music_transformer --vocab characters",
    "dropping": "transformer_xl --dropout 0.3 --dropatt 0.2",
}
translators = {
    "transformer": "",
    "rope": "--encoder rope --decoder rope --tie_embedding true",
    "transformer_xl": "--encoder transformer_xl --decoder transformer_xl --share_embedding true",
    "music_transformer": "--encoder music_transformer --decoder music_transformer --norm_first false",
    "aft_local": "--encoder aft --decoder aft",
    "aft_full": "--encoder aft --decoder aft --form full",
    "aft_simple": "--encoder aft --decoder aft --form simple",
    "aft_conv": "--encoder aft --decoder aft --form conv",
    "local_rnn": "--decoder local_rnn",
    "words": "--source_tokens words --target_tokens words",
}
text = "".join(f"line {n * n % 100}: né\n" for n in range(200))
pairs = [(f"{n * 37 % 1000} is {n}", f"{n} {n * 7 % 100}") for n in range(100)]


def run(*command, given=None):
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")


def add_other_kinds():
    """Adds each kind of model that a program knows and no entry has."""
    def kinds(program, flag):
        refused = subprocess.run([program, "train", flag, "?"], capture_output=True, text=True).stderr
        return re.findall("[a-z_]+", re.search("expected (.*)", refused)[1].replace(" or ", ", "))

    def missing(lists, names):
        return [name for name in names if not any(name in flags.split() for flags in lists.values())]

    language_models.update({name: name for name in missing(language_models, kinds(char_lm, "--model"))})
    encoders, decoders = kinds(seq2seq, "--encoder"), kinds(seq2seq, "--decoder")
    for name in missing(translators, decoders):
        translators[name] = (f"--encoder {name} " if name in encoders else "") + f"--decoder {name}"


def setUpModule():
    global folder
    torch.set_num_threads(1)  # two only get in each other's way here
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    Path("text").write_text(text)
    Path("pairs").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    add_other_kinds()
    short = "--threads 1 --max_iters 4 --eval_interval 4 --learning_rate 1e-2 --warmup_iters 1 --n_head 2 --n_layer 2".split()
    for name, flags in language_models.items():
        run(char_lm, "train", "--data", "text", "--out_dir", name, "--n_embd", "8", "--block_size", "12",
            "--batch_size", "4", *short, "--model", *flags.split())
    for name, flags in translators.items():
        run(seq2seq, "train", "--data", "pairs", "--out_dir", "to_" + name, "--n_embd", "8", "--max_len", "20",
            "--batch_size", "4", *short, *flags.split())


def tearDownModule():
    os.chdir("/")
    folder.cleanup()


def models():
    """Each model, and tokens for it. What one draws does not depend on the models before it."""
    for name in language_models:
        torch.manual_seed(1)
        model = sg.load(name)
        yield name, model, (torch.randint(model.config["vocab_size"], (2, 9)),)
    for name in translators:
        torch.manual_seed(1)
        model = sg.load("to_" + name)
        source = torch.randint(2, model.config["source_vocab_size"], (2, 7))
        yield "to_" + name, model, (source, torch.randint(model.config["target_vocab_size"], (2, 6)))


def by_run_model(name, tokens, cotangent):
    names = ("source", "target") if len(tokens) == 2 else ("tokens",)
    save_file(dict(zip(names, tokens)) | {"cotangent": cotangent}, "case")
    run(run_model, f"{name}/best.safetensors", "case", "out")
    return load_file("out")


class Models(unittest.TestCase):
    def test_bits_are_the_programs_own(self):
        for name, model, tokens in models():
            with self.subTest(name):
                logits = model(*tokens)
                cotangent = torch.randn_like(logits)
                logits.backward(cotangent)
                got = {"logits": logits.detach()} | {key: value.grad for key, value in model.named_parameters()}
                expected = by_run_model(name, tokens, cotangent)
                self.assertEqual(got.keys(), expected.keys())
                for key, value in expected.items():
                    self.assertTrue(torch.equal(got[key], value), key)

    def test_a_file_of_the_first_format(self):
        model, tokens = sg.load(old_run), torch.arange(9)[None]
        logits = model(tokens)
        expected = by_run_model(old_run, (tokens,), torch.ones_like(logits))["logits"]
        self.assertTrue(torch.equal(logits, expected))

    def test_parameters_are_those_of_the_file(self):
        for name, model, _ in models():
            saved = load_file(f"{name}/best.safetensors")
            self.assertEqual(set(model.state_dict()), {key for key in saved if not key.startswith("trainer.")})
            for key, value in model.state_dict().items():
                self.assertTrue(torch.equal(value, saved[key]), key)
            self.assertEqual(model.flags["max_iters"], 4)

    def test_the_last_checkpoint_is_named_by_its_file(self):
        model = sg.load(Path("music_transformer") / "last.safetensors")
        for key, value in load_file("music_transformer/last.safetensors").items():
            if not key.startswith("trainer."):
                self.assertTrue(torch.equal(model.state_dict()[key], value), key)

    def test_gradients_are_difference_quotients(self):
        for name, model, tokens in models():
            with self.subTest(name):
                parameters = list(model.double().parameters())
                logits = model(*tokens)
                cotangent, directions = torch.randn_like(logits), [torch.randn_like(each) for each in parameters]
                gradients = torch.autograd.grad(logits, parameters, cotangent)
                expected = sum((g * d).sum() for g, d in zip(gradients, directions))

                def moved(step):
                    with torch.no_grad():
                        for parameter, direction in zip(parameters, directions):
                            parameter.add_(direction, alpha=step)
                        return (model(*tokens) * cotangent).sum()

                epsilon = 1e-6
                quotient = (moved(epsilon) - moved(-2 * epsilon)) / (2 * epsilon)
                torch.testing.assert_close(quotient, expected, rtol=1e-6, atol=1e-6)

    def test_pieces_give_what_one_pass_gives(self):
        for name, model, tokens in models():
            with self.subTest(name):
                *source, target = tokens
                model.double()
                expected, pieces = model(*tokens).detach(), []
                state = model.start(*source)
                for piece in (target[:, :1], target[:, 1:4], target[:, 4:5], target[:, 5:]):
                    logits, state = model.step(piece, state)
                    pieces.append(logits)
                    state = copy.deepcopy(state)
                torch.testing.assert_close(torch.cat(pieces, 1), expected)

    def test_a_memory_gives_what_one_pass_gives(self):
        model, tokens = sg.load("transformer_xl").double(), torch.randint(10, (3, 12))
        expected = model(tokens)
        logits, memory = [], None
        for piece in tokens.split(4, dim=1):
            y, memory = model(piece, memory=memory, mem_len=12)
            logits.append(y)
        torch.testing.assert_close(torch.cat(logits, 1), expected)
        self.assertEqual(memory.shape, (2, 3, 12, 8))
        self.assertEqual(model(tokens, mem_len=5)[1].shape, (2, 3, 5, 8))
        self.assertEqual(model(tokens, memory, mem_len=0)[1].shape, (2, 3, 0, 8))
        torch.testing.assert_close(model(tokens, memory, mem_len=3)[0], model(tokens, memory))

    def test_losses_are_those_of_eval(self):
        for name in ("learned", "sinusoid", "transformer_xl", "labml"):
            with self.subTest(name):
                model = sg.load(name)
                run(char_lm, "eval", name, "--losses", "losses", "--eval_split", "0.2")
                expected = torch.tensor([float(line) for line in Path("losses").read_text().split()])
                tokens = model.vocabulary.encode(text.encode())[-len(expected) - 1:]
                mem_len = model.flags["mem_len"]
                memory, losses = None, []
                for x, y in zip(tokens[:-1].split(12), tokens[1:].split(12)):
                    with torch.no_grad():
                        logits, memory = model(x[None], memory if mem_len else None, mem_len)
                    losses.append(functional.cross_entropy(logits[0].double(), y, reduction="none"))
                self.assertLess((torch.cat(losses) - expected).abs().max(), 1e-6)

    def test_training_goes_on(self):
        for name, model, tokens in models():
            with self.subTest(name):
                optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
                *source, target = tokens
                losses = []
                for _ in range(8):
                    logits = model(*source, target[:, :-1])
                    losses.append(functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten()))
                    optimizer.zero_grad()
                    losses[-1].backward()
                    optimizer.step()
                self.assertLess(losses[-1], losses[0] - 0.1)

    def test_weights_are_in_memory_once(self):
        """Torch makes no storage of its own, which it could resize."""
        for name, model, tokens in models():
            with self.subTest(name):
                self.assertFalse(any(each.untyped_storage().resizable() for each in model.parameters()))

    def test_a_new_model_takes_the_weights(self):
        for name in ("xl_tied", "to_transformer_xl"):
            loaded = sg.load(name)
            config = {key: value for key, value in loaded.config.items() if "dropout" not in key}
            for other in (sg.layer(loaded.name, **config), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
                other.load_state_dict(loaded.state_dict())
                tokens = torch.randint(10, (1, 6))
                given = (tokens,) if "to_" not in name else (tokens, tokens)
                self.assertTrue(torch.equal(other(*given), loaded(*given)))

    def test_dropout_is_that_of_the_training(self):
        model, tokens = sg.load("dropping"), torch.randint(10, (1, 8))
        self.assertEqual((model.config["dropout"], model.config["attention_dropout"]), (0.3, 0.2))
        self.assertTrue(torch.equal(model(tokens), model(tokens)))
        model.train()
        self.assertFalse(torch.equal(model(tokens), model(tokens)))
        for _ in range(2):
            torch.manual_seed(3)
            tokens_after = model(tokens)
            torch.manual_seed(3)
            self.assertTrue(torch.equal(model(tokens), tokens_after))

    def test_padding_of_a_source_changes_nothing(self):
        model = sg.load("to_music_transformer")
        source, target = torch.randint(2, 10, (1, 5)), torch.randint(10, (1, 4))
        padded, padding = functional.pad(source, (0, 3)), torch.arange(8)[None] >= 5
        torch.testing.assert_close(model(padded, target, key_padding_mask=padding), model(source, target))
        logits, _ = model.step(target, model.start(padded, padding))
        torch.testing.assert_close(logits, model(source, target).detach())

    def test_autocast_rounds_products(self):
        model, tokens = sg.load("transformer_xl"), torch.randint(10, (2, 8))
        with torch.autocast("cpu", torch.bfloat16):
            logits, memory = model(tokens, mem_len=8)
        self.assertEqual((logits.dtype, memory.dtype), (torch.bfloat16, torch.float32))
        self.assertTrue(1e-5 < (logits.float() - model(tokens)).abs().max() / model(tokens).abs().max() < 3e-2)

    def test_nothing_to_read(self):
        model = sg.load("music_transformer")
        self.assertEqual(model(torch.zeros(0, 3, dtype=torch.int64)).shape, (0, 3, model.config["vocab_size"]))
        model(torch.zeros(2, 0, dtype=torch.int64)).sum().backward()
        self.assertEqual(model.get_parameter("output.weight" if "output.weight" in dict(model.named_parameters())
                                             else "embedding.weight").grad.abs().max(), 0)

    def test_compiled_models_give_the_same(self):
        for name, tokens in (("transformer_xl", (torch.randint(10, (2, 5)),)),
                             ("to_transformer", (torch.randint(10, (2, 5)), torch.randint(10, (2, 4))))):
            model = sg.load(name)
            compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
            self.assertTrue(torch.equal(compiled(*tokens), model(*tokens)))
        compiled = torch.compile(sg.load("labml"), fullgraph=True, backend="aot_eager")
        logits, memory = compiled(torch.randint(10, (2, 5)), mem_len=3)
        self.assertEqual((logits.shape[1], memory.shape[2]), (5, 3))


class Texts(unittest.TestCase):
    def same(self, name, flags, prompt, **options):
        expected = run(char_lm, "generate", name, "--prompt", prompt, *flags.split())
        self.assertEqual(prompt + sg.load(name).generate(prompt, **options) + "\n", expected)

    def test_texts_are_those_of_generate(self):
        for name in language_models:
            with self.subTest(name):
                self.same(name, "--length 40 --seed 5", "line 4", length=40, seed=5)

    def test_every_option(self):
        self.same("music_transformer", "--length 60 --seed 1 --top_k 4", "line", length=60, seed=1, top_k=4)
        self.same("music_transformer", "--length 60 --seed 1 --top_p 0.5", "line", length=60, seed=1, top_p=0.5)
        self.same("music_transformer", "--length 60 --seed 1 --min_p 0.1", "line", length=60, seed=1, min_p=0.1)
        self.same("music_transformer", "--length 60 --temperature 0", "line", length=60, temperature=0)
        self.same("music_transformer", "--length 60 --temperature 0 --mem_len 2", "line", length=60, temperature=0,
                  mem_len=2)
        self.same("music_transformer", "--length 60 --seed 1 --stop e", "line", length=60, seed=1, stop="e")
        self.same("music_transformer", "--length 60 --seed 1 --stop e", "line", length=60, seed=1, stop=["eee", "e"])
        self.same("music_transformer", "--length 60 --seed 1 --repetition_penalty 2 --repetition_window 9", "line",
                  length=60, seed=1, repetition_penalty=2, repetition_window=9)

    def test_products_of_bfloat16(self):
        sg.set_precision("bfloat16")
        try:
            self.same("music_transformer", "--length 60 --seed 1 --precision bfloat16", "line", length=60, seed=1)
        finally:
            sg.set_precision("float32")

    def test_a_prompt_gives_its_own_type(self):
        model = sg.load("characters")
        made = model.generate("né", length=9, seed=1)
        tokens = model.generate(model.vocabulary.encode("né"), length=9, seed=1)
        self.assertEqual((tokens.dtype, tokens.shape), (torch.int64, (9,)))
        self.assertEqual(model.vocabulary.decode(tokens), made)
        self.assertEqual(model.generate("né".encode(), length=9, seed=1), made.encode())
        torch.manual_seed(1)
        first = [model.generate("né", length=40) for _ in range(2)]
        torch.manual_seed(1)
        self.assertEqual(model.generate("né", length=40), first[0])
        self.assertNotEqual(*first)

    def test_a_signal_ends_a_text(self):
        def end(*_):
            raise TimeoutError("enough")

        model, before = sg.load("music_transformer"), signal.signal(signal.SIGALRM, end)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaisesRegex(TimeoutError, "enough"):
                model.generate("line", length=10**9)
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_targets_are_those_of_translate(self):
        sources = [source for source, _ in pairs[:5]] + ["7 is 3"]
        for name in translators:
            for flags, options in (("", {}), ("--beam 1", {"beam": 1}),
                                   ("--temperature 2 --seed 3 --top_k 5 --max_length 7",
                                    {"temperature": 2, "seed": 3, "top_k": 5, "max_length": 7})):
                with self.subTest(name, flags=flags):
                    lines = "".join(source + "\n" for source in sources).encode()
                    if name == "words":
                        lines, sources = b"37 is 1\n", ["37 is 1"]
                    expected = run(seq2seq, "translate", "to_" + name, *flags.split(), given=lines).split("\n")[:-1]
                    model = sg.load("to_" + name)
                    self.assertEqual(model.generate(sources, **options), expected)
                    self.assertEqual(model.generate(sources[0], **options), expected[0])
                    rows = model.generate(model.source_vocabulary.encode(sources[0])[None], **options)
                    self.assertEqual([model.target_vocabulary.decode(row) for row in rows], expected[:1])
        self.assertEqual(model.generate([]), [])

    def test_vocabularies(self):
        bytes_model, characters = sg.load("music_transformer").vocabulary, sg.load("characters").vocabulary
        for vocabulary, length in ((bytes_model, 3), (characters, 2)):
            self.assertEqual(len(vocabulary.encode("né")), length)
            self.assertEqual(vocabulary.decode(vocabulary.encode("né")), "né")
            self.assertEqual(len(vocabulary.encode("")), 0)
        self.assertEqual(bytes_model.decode(bytes_model.encode("né")[:2]), "n\N{REPLACEMENT CHARACTER}")
        self.assertEqual(bytes_model.decode_bytes(bytes_model.encode("né")[:2]), b"n\xc3")
        words = sg.load("to_words")
        tokens = words.source_vocabulary.encode("37 is 1")
        self.assertEqual((len(tokens), words.source_vocabulary.decode(tokens)), (3, "37 is 1"))
        self.assertEqual((words.begin, words.end), (0, 1))
        self.assertEqual(words.target_vocabulary.decode([0, *words.target_vocabulary.encode("1 7"), 1]), "1 7")


class Versions(unittest.TestCase):
    def test_a_newer_one_is_named(self):
        with safe_open("music_transformer/best.safetensors", "pt") as file:
            metadata = file.metadata()
        metadata["shiftgrad_version"] = "1000.2.3"
        save_file(load_file("music_transformer/best.safetensors"), "newer", metadata)
        with self.assertWarnsRegex(UserWarning, "^newer: written by shiftgrad 1000.2.3, which is newer than this "):
            sg.load("newer")


class Mistakes(unittest.TestCase):
    def refused(self, kind, line, call):
        with self.subTest(line), self.assertRaisesRegex(kind, f"^{line}$") as refusal:
            call()
        self.assertNotIn("\n", str(refusal.exception))

    def test_files(self):
        Path("empty").mkdir()
        save_file({"weight": torch.zeros(1)}, "own", {"format": "shiftgrad-model-1", "model": "{}"})
        save_file({"weight": torch.zeros(1)}, "foreign", {"format": "pt"})
        Path("cut").write_bytes(Path("music_transformer/best.safetensors").read_bytes()[:-8])
        with safe_open("music_transformer/best.safetensors", "pt") as file:
            metadata = file.metadata()
        metadata["model"] = json.dumps(json.loads(metadata["model"]) | {"own_mixer": True})
        save_file(load_file("music_transformer/best.safetensors"), "own_mixer", metadata)
        for line, path in {
            "missing/best.safetensors: no such file": "missing",
            "empty/best.safetensors: no such file": "empty",
            "text: [^\n]+": "text",
            "cut: [^\n]+": "cut",
            'foreign: has the format "pt", expected the format shiftgrad-1: [^\n]+': "foreign",
            "own: a model of a program's own, which only that program can make; expected a run of char_lm or seq2seq":
                "own",
            "own_mixer: language_model: own_mixer true, which needs the maker of that mixer": "own_mixer",
        }.items():
            self.refused(ValueError, line, lambda: sg.load(path))
        self.refused(TypeError, "load: run is 3, expected a path", lambda: sg.load(3))

    def test_tokens(self):
        model, translator = sg.load("music_transformer"), sg.load("to_music_transformer")
        V, good = model.config["vocab_size"], torch.zeros(1, 3, dtype=torch.int64)
        for bad in (V, -1, 2**40):
            for call in (model, model.step, lambda tokens: model.generate(tokens[0])):
                self.refused(ValueError, fr"language_model: token \S+ in tokens, expected 0 to {V - 1}",
                             lambda: call(good + bad))
            self.refused(ValueError, r"encoder_decoder: token \S+ in source, expected 0 to \d+",
                         lambda: translator(good + bad, good))
            self.refused(ValueError, r"encoder_decoder: token \S+ in target, expected 0 to \d+",
                         lambda: translator(good, good + bad))
        for line, call in {
            r"language_model: tokens \[3\], expected \[B, T\]": lambda: model(good[0]),
            r"language_model: memory \[2, 1, 3\], expected \[2, 1, M, 8\]":
                lambda: model(good, memory=torch.zeros(2, 1, 3)),
            r"language_model: tokens \[1, 0\], expected at least one": lambda: model.step(good[:, :0]),
            r"encoder_decoder: source \[1, 0\], expected at least one token": lambda: translator(good[:, :0], good),
            r"encoder_decoder: 1 targets for 2 sources": lambda: translator(good.expand(2, 3), good),
            r"encoder_decoder: key_padding_mask \[1, 4\], expected \[1, 3\]":
                lambda: translator(good, good, torch.zeros(1, 4, dtype=torch.bool)),
            "encode: the model does not know the character 'q', number 2": lambda: model.vocabulary.encode("lq"),
            'encode: the model does not know the character "q"': lambda: translator.generate("q"),
            "encode: an empty line": lambda: translator.generate(""),
            "decode: token 99, expected 0 to .*": lambda: model.vocabulary.decode([99]),
            "generate: an empty prompt, expected at least one token": lambda: model.generate(""),
            "generate: stop is 1099511627776, expected 0 to 2147483647": lambda: model.generate(good[0], stop=[2**40]),
            "generate: token 99 in stop, expected 0 to .*": lambda: model.generate(good[0], stop=[99]),
            "generate: length is -1, expected 0 to 9223372036854775807": lambda: model.generate("l", -1),
            "sampling: temperature -1, expected .*": lambda: model.generate("l", temperature=-1),
            "sampling: temperature nan, expected .*": lambda: model.generate("l", temperature=float("nan")),
            "sampling: temperature -2, expected .*": lambda: translator.generate("1", temperature=-2),
            "[^\n]*width 0, expected .*": lambda: translator.generate("1", beam=0),
            "[^\n]*length_penalty nan, expected .*":
                lambda: translator.generate("1", length_penalty=float("nan")),
            "language_model: a text for a model without a vocabulary, expected tokens":
                lambda: sg.layer(model.name, **model.config).generate("l"),
        }.items():
            self.refused(ValueError, line, call)

    def test_dtypes(self):
        model, translator = sg.load("music_transformer"), sg.load("to_music_transformer")
        good = torch.zeros(1, 3, dtype=torch.int64)
        for line, call in {
            "language_model: tokens is torch.float32, expected torch.int64": lambda: model(good.float()),
            "language_model: tokens is list, expected a torch.Tensor": lambda: model([[1, 2]]),
            "encoder_decoder: source is torch.float32, expected torch.int64": lambda: translator(good.float(), good),
            "language_model: memory is torch.float64, but tokens is torch.float32":
                lambda: model(good, torch.zeros(2, 1, 3, 8).double()),
            "generate: temperature is 'hot', expected a number": lambda: model.generate("l", temperature="hot"),
            "generate: top_k is 2.5, expected a whole number": lambda: model.generate("l", top_k=2.5),
            "encode: text is int, expected str or bytes": lambda: model.vocabulary.encode(3),
        }.items():
            self.refused(TypeError, line, call)


if __name__ == "__main__":
    unittest.main()
