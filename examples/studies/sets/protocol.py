"""The list of trainings: which models, on which text, with which settings, chosen how. README.md says why.

A part goes rung by rung for each of its models (arms). A rung trains settings with some seeds and keeps the best, by the mean
validation loss of their best checkpoints; ties go to the setting that stands first. The last rung, on seeds that no choice has
seen, is scored: once on the validation text, once on the test text.
"""

from dataclasses import dataclass, replace
from math import sqrt

RATES = "1e-3", "2e-3", "4e-3", "8e-3"
FINER_RATES = "1e-3", "1.5e-3", "2e-3", "3e-3", "4e-3", "6e-3", "8e-3", "12e-3"
BAR = 64  # notes: 16 sixteenths of four voices
HOURS = 40  # of one core, after which a part begins no further training, unless it has more


@dataclass(frozen=True)
class Setting:
    """What is searched: flags, and the deviation from which embeddings are drawn if it is not char_lm's."""

    flags: dict
    draw: float = 0

    def __str__(self):
        words = [f"--{name} '{value}'" if "*" in value else f"--{name} {value}" for name, value in self.flags.items()]
        return " ".join(words + ([f"embeddings of deviation {self.draw:.3f}"] if self.draw else []))


@dataclass(frozen=True)
class Arm:
    name: str
    flags: dict
    settings: tuple
    by_memory: bool = False  # scored with its memory, not in overlapping blocks
    unread: int = 0  # parameters that a causal model never reads
    text: str = ""  # the folder of its texts, if it is not the part's


@dataclass(frozen=True)
class Rung:
    name: str
    steps: int
    seeds: tuple
    keep: int = 1  # settings that go on


@dataclass(frozen=True)
class Part:
    name: str
    text: str  # folder of train.txt, valid.txt and test.txt
    flags: dict
    rungs: tuple
    arms: object  # arms(part, results)
    block: int  # of the overlapping blocks of a score
    stride: int
    notes: bool = False  # line feeds do not count, and the score is in nats
    program: str = "char_lm"  # what trains and scores
    hours: float = HOURS


def flags(text):
    """Flags as {name: value}."""
    words = text.replace("--", "").split()
    return dict(zip(words[::2], words[1::2], strict=True))


def flags_of(part, arm, rung, setting, seed):
    """All flags of a training that change its bits, but for the texts."""
    return part.flags | arm.flags | setting.flags | {"max_iters": str(rung.steps), "seed": str(seed)}


def rates():
    """Eight settings of a model that has no table of its own: a finer grid of rates."""
    return tuple(Setting({"learning_rate": rate}) for rate in FINER_RATES)


def tables(pattern):
    """Eight settings of a model with tables of its own: they learn at the rate of all else, or at ten times that."""
    scales = {}, {"lr_scale": f"{pattern}=10"}
    return tuple(Setting({"learning_rate": rate} | scale) for scale in scales for rate in RATES)


def draws(channels):
    """Eight settings of a model with sinusoids: embeddings from N(0, 0.02²), char_lm's, or from N(0, 1/C), Vaswani's code's."""
    return tuple(Setting({"learning_rate": rate}, draw) for draw in (0, 1 / sqrt(channels)) for rate in RATES)


def text_arms(layers, heads, channels, widths):
    """The variants, with the widths of their feed-forward nets that give all the same number of parameters."""
    position, labml, past = "position_embedding.*", "*key_pos_*", "*past_*"
    shaw, biases, kernel = "*_distance_embeddings", "*position_bias_*", "*mixer.kernel*"
    arms = (
        ("transformer", "--model transformer", tables(position)),
        ("transformer:position=sinusoid", "--model transformer --position sinusoid", draws(channels)),
        ("transformer_xl", "--model transformer_xl --mem_len 0", rates()),
        ("transformer:position=rope", "--model transformer --position rope", rates()),
        ("r_transformer", "--model r_transformer", rates()),
        ("music_transformer", "--model music_transformer --max_seq 128", tables(past)),
        ("shaw", "--model shaw", tables(shaw)),
        ("local_rnn", "--model local_rnn", rates()),
        ("aft:form=local", "--model aft --form local", tables(biases)),
        ("aft:form=conv", "--model aft --form conv", tables(kernel)),
        ("transformer:position=alibi", "--model transformer --position alibi", rates()),
        ("labml", "--model labml --mem_len 0 --max_positions 128", tables(labml)),
        ("transformer_xl:mem_len=64", "--model transformer_xl --mem_len 64 --block_size 64 --batch_size 32", rates()),
        ("aft:form=full", "--model aft --form full", tables(biases)),
        ("aft:form=simple", "--model aft --form simple", rates()),
    )
    size = {"n_layer": str(layers), "n_head": str(heads), "n_embd": str(channels)}
    return tuple(Arm(name, size | flags(words) | {"d_inner": str(widths[name])}, settings, name.endswith("mem_len=64"),
                     128 * layers * (channels + heads) if name == "labml" else 0) for name, words, settings in arms)


SMALL = text_arms(4, 4, 128, {
    "transformer": 692, "transformer:position=sinusoid": 708, "transformer:position=rope": 708,
    "transformer:position=alibi": 708, "transformer_xl": 644, "transformer_xl:mem_len=64": 644, "labml": 640,
    "music_transformer": 640, "shaw": 700, "aft:form=full": 644, "aft:form=local": 644, "aft:form=conv": 768,
    "aft:form=simple": 708, "local_rnn": 580, "r_transformer": 320})
LARGE = text_arms(6, 6, 192, {
    "transformer": 896, "transformer:position=sinusoid": 908, "transformer:position=rope": 908,
    "transformer:position=alibi": 908, "transformer_xl": 812, "transformer_xl:mem_len=64": 812, "labml": 840,
    "music_transformer": 840, "shaw": 900, "aft:form=full": 864, "aft:form=local": 864, "aft:form=conv": 1000,
    "aft:form=simple": 908, "local_rnn": 716, "r_transformer": 328})


def variant_arms(layers, heads, channels, widths):
    """The mechanisms of examples/variants, with widths as those of text_arms."""
    settings = {"cope": tables("*mixer.embeddings"), "swin": tables("*mixer.table")}
    size = {"n_layer": str(layers), "n_head": str(heads), "n_embd": str(channels)}
    return tuple(Arm(name, size | {"model": name, "d_inner": str(width)}, settings.get(name, rates()))
                 for name, width in widths.items())


VARIANTS = variant_arms(4, 4, 128, {
    "fox": 704, "sink": 708, "soft_cap": 708, "grouped": 772, "fire": 706, "cope": 700, "differential": 708,
    "streaming": 708, "gated_linear": 580, "retention": 644, "swin": 700})


def bach_arms(size, widths):
    """Music Transformer's distances against absolute positions, both kinds of them, and both again in blocks that begin with a
    bar."""
    channels = int(flags(size)["n_embd"])
    arms = (("music_transformer", "--model music_transformer --max_seq 256", tables("*past_*")),
            ("sinusoid", "--model transformer --position sinusoid", draws(channels)),
            ("learned", "--model transformer --position learned", tables("position_embedding.*")))
    arms = [Arm(name, flags(f"{size} {words}") | {"d_inner": str(widths[name])}, settings) for name, words, settings in arms]
    bars = {"block_step": str(BAR)}
    return (*arms, *(replace(arm, name=f"{arm.name}:block_step={BAR}", flags=arm.flags | bars, text="chorales_in_bars")
                     for arm in arms[1:]))


def with_rates(arm, setting):
    """The arm of a larger model with two settings: the smaller one's choice, and the same at half the rate."""
    rate = float(setting.flags["learning_rate"])
    settings = tuple(replace(setting, flags=setting.flags | {"learning_rate": f"{each:g}"}) for each in (rate, rate / 2))
    draw = 1 / sqrt(int(arm.flags["n_embd"]))
    return replace(arm, settings=tuple(replace(each, draw=draw) if each.draw else each for each in settings))


def large_arms(part, results):
    """The best four of `ptb` by validation, then the better one with absolute positions; none before all are there."""
    decided = {arm.name: results.decided(PTB, arm) for arm in SMALL}
    if None in decided.values():
        return ()
    order = sorted(decided, key=lambda name: decided[name].valid)
    plain = min(("transformer", "transformer:position=sinusoid"), key=order.index)
    names = dict.fromkeys([*order[:4], plain])
    return tuple(with_rates(arm, decided[arm.name].setting) for name in names for arm in LARGE if arm.name == name)


TEXT = flags("--block_size 128 --batch_size 16 --min_lr 1e-4 --warmup_iters 100 --eval_iters 64 --eval_interval 500")
CHORALES = flags("--block_size 256 --batch_size 4 --min_lr 1e-5 --warmup_iters 100 --eval_iters 72 --eval_interval 500")
PTB = Part("ptb", "ptb", TEXT,
           (Rung("first", 400, (1,), 2), Rung("second", 1200, (1,)), Rung("decision", 3000, (1001, 1002, 1003))),
           lambda part, results: SMALL, block=128, stride=64)
PARTS = (
    PTB,
    Part("bach", "chorales", CHORALES, (Rung("choice", 1500, (1, 2, 3)), Rung("decision", 1500, tuple(range(1001, 1011)))),
         lambda part, results: bach_arms("--n_layer 4 --n_head 4 --n_embd 128 --dropout 0",
                                         {"music_transformer": 512, "sinusoid": 644, "learned": 612}),
         block=256, stride=64, notes=True),
    Part("book", "chorales", CHORALES,
         (Rung("first", 1000, (1,), 2), Rung("second", 3000, (1,)), Rung("decision", 8000, (1001, 1002, 1003))),
         lambda part, results: bach_arms("--n_layer 4 --n_head 5 --n_embd 80 --dropout 0.05",
                                         {"music_transformer": 320, "sinusoid": 456, "learned": 424}),
         block=256, stride=64, notes=True),
    Part("ptb_large", "ptb", TEXT, (Rung("first", 500, (1,)), Rung("decision", 3000, (1001,))), large_arms,
         block=128, stride=64),
    replace(PTB, name="ptb_variants", arms=lambda part, results: VARIANTS, program="variants", hours=HOURS + 20),
)
