"""The transformers of this benchmark, and the least that a training step of them takes."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """GPT-2's architecture: tied embeddings, learned positions, gelu, biases."""

    layers: int
    model: int
    heads: int
    vocab: int
    batch: int
    seq: int

    @property
    def parameters(self):
        block = 12 * self.model**2 + 13 * self.model
        return self.layers * block + (self.vocab + self.seq + 2) * self.model

    @property
    def flops(self):
        """Of all products of a step, forward and backward. Attention is causal, so half of its scores count. That
        its gradient may compute the scores again does not."""
        tokens = self.batch * self.seq
        dense = 6 * tokens * (self.layers * 12 * self.model**2 + self.vocab * self.model)
        attention = 3 * self.layers * self.batch * 4 * self.seq**2 * self.model / 2
        return dense + attention

    @property
    def optimizer_bytes(self):
        """AdamW reads parameter, gradient and two moments, and writes all but the gradient."""
        return 4 * 7 * self.parameters


SHAPES = {
    "nano": Shape(4, 128, 4, 66, 12, 64),
    "gpt2 4x64": Shape(12, 768, 12, 50304, 4, 64),
    "gpt2 2x512": Shape(12, 768, 12, 50304, 2, 512),
}


def add_arguments(parser):
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--steps", type=int, default=10, help="timed, after two that are not")


def report(seconds, loss, version, processes=1):
    """Prints what the caller reads: the last line. The memory is that of `processes` alike."""
    import json, resource

    # Of this process and of those it waited for; ru_maxrss is in KiB.
    memory = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"seconds": seconds, "loss": loss, "memory": memory * 1024 * processes, "version": version}))
