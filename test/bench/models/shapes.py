"""The models of this benchmark: their data, and the least that a training step of each must compute and move."""
from dataclasses import dataclass, field

BATCHES = 8  # that a run has in turn


@dataclass(frozen=True)
class Model:
    text: str  # models/TEXT.mesh
    inputs: dict  # by name: "f" or "i", the shape of a batch, and the limit of whole numbers, or 0 for numbers below 1
    flops: int  # of all products, forward, and gradients of weights and inputs
    weights: int  # that an update changes; biases and gains are left out
    optimizer: str = "adamw"
    types: tuple = ("f32",)
    sizes: dict = field(default_factory=dict)  # other than the text's
    table: int = 0  # those of the weights that are a table, whose gradient is a list of rows: it need not be stored whole
    within: int = 0  # bytes of the tables in which the weights lie, if only a part of them changes

    @property
    def batch(self):
        return next(iter(self.inputs.values()))[1][0]

    @property
    def moved(self):
        """AdamW reads parameter, gradient and two moments, and writes all but the gradient; SGD has no moments."""
        return 4 * ({"adamw": 7, "sgd": 3}[self.optimizer] * self.weights - self.table)

    @property
    def bytes(self):
        """Of the arrays in which these bytes lie."""
        return max(4 * ({"adamw": 4, "sgd": 2}[self.optimizer] * self.weights - self.table), self.within)

    def arrays(self):
        """By name, BATCHES batches of random numbers, alike in all frameworks."""
        import numpy as np

        random = np.random.default_rng(0)
        shape = lambda dims: (BATCHES * dims[0], *dims[1:])
        draw = lambda dims, limit: (random.integers(0, limit, shape(dims), dtype=np.int32) if limit else
                                    random.random(shape(dims), dtype=np.float32))
        return {name: draw(dims, limit).astype(kind + "4") for name, (kind, dims, limit) in self.inputs.items()}


def text(batch, seq):
    return {name: ("i", (batch, seq), 256) for name in ("tokens", "targets")}


def images(batch, *dims):
    return {"images": ("f", (batch, *dims), 0), "labels": ("i", (batch,), 10)}


def lookups(rows):
    return {"ids": ("i", (1024, 8), rows), "followed": ("f", (1024,), 2)}


# A product of n rows by w weights takes 2 n w FLOPs, and as many for each of its two gradients.
# LSTM, GRU: 2,048 tokens; gates of the input (256) and the state (512); logits of 512 × 256.
_LSTM, _GRU = (gates * 512 * (256 + 512) + 512 * 256 for gates in (4, 3))
# ViT: 2,048 patches, 12 × 192² weights in each of 6 layers; two products of attention, 64² × 192 each, whose gradients take
# two each; 4 × 4 × 3 pixels of a patch, which have no gradient; the mean's 10 logits.
_VIT = 6 * 12 * 192**2
_VIT_FLOPS = 6 * 2048 * _VIT + 3 * 6 * 32 * 4 * 64**2 * 192 + 4 * 2048 * 48 * 192 + 6 * 32 * 192 * 10
# CNN: 28² places × 5² × 32, whose images have no gradient; 14² places × 5² × 32 × 64; dense layers of 7² × 64 × 512 and 10.
_CNN = 7 * 7 * 64 * 512 + 512 * 10
_CNN_FLOPS = 64 * (4 * 28**2 * 25 * 32 + 6 * 14**2 * 25 * 32 * 64 + 6 * _CNN)
# Recommender: 1,024 examples of eight rows of 64; layers of 512, 128 and 1. AdamW changes all rows, SGD without weight decay
# only those that a batch looks up: nearly 8,192 different ones.
_DENSE = 512 * 512 + 512 * 128 + 128
_LOOKED_UP = 8 * 1024 * 64
# Deep: 256 images of 784, which have no gradient, and 48 layers of 256².
_DEEP = 48 * 256**2 + 256 * 10
# Experts: each of 2,048 tokens goes through two experts, two products of 256 × 1024 each; slots that stay empty do not count.
# The router has 256 × 8 weights; the table is that of the logits, too.
_MOE = 2 * 2 * 256 * 1024 + 256 * 8 + 256 * 256

MODELS = {
    "LSTM": Model("lstm", text(32, 64), 6 * 2048 * _LSTM, _LSTM + 256 * 256),
    "GRU": Model("gru", text(32, 64), 6 * 2048 * _GRU, _GRU + 256 * 256),
    "ViT": Model("vit", images(32, 32, 32, 3), _VIT_FLOPS, _VIT + (48 + 64 + 10) * 192, types=("f32", "bf16")),
    "CNN": Model("cnn", images(64, 28, 28, 1), _CNN_FLOPS, _CNN + 25 * 32 + 25 * 32 * 64),
    "table AdamW": Model("recommender", lookups(200000), 6 * 1024 * _DENSE, _DENSE + 200000 * 64, table=200000 * 64),
    "table SGD": Model("recommender", lookups(200000), 6 * 1024 * _DENSE, _DENSE + _LOOKED_UP, "sgd",
                       within=4 * 200000 * 64),
    "table SGD 2M": Model("recommender", lookups(2000000), 6 * 1024 * _DENSE, _DENSE + _LOOKED_UP, "sgd",
                          sizes={"rows": 2000000}, within=4 * 2000000 * 64),
    "deep": Model("deep", images(256, 784), 6 * 256 * _DEEP + 4 * 256 * 784 * 256, _DEEP + 784 * 256),
    "experts": Model("moe", text(16, 128), 6 * 2048 * _MOE, 8 * 2 * 256 * 1024 + 256 * 8 + 256 * 256),
}


def add_arguments(parser):
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=10, help="timed, after two that are not")
    parser.add_argument("--type", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--sparse", action="store_true", help="the table's gradient is a list of rows")


def time_steps(step, steps):
    """The median seconds of `step(i)`, which returns the loss, and the first and the last loss."""
    import statistics, time

    times, losses = [], []
    for i in range(steps + 2):
        start = time.perf_counter()
        losses.append(float(step(i % BATCHES)))
        times.append(time.perf_counter() - start)
    return {"seconds": statistics.median(times[2:]), "first": losses[0], "loss": losses[-1]}
