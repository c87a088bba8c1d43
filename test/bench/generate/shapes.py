"""The models of this benchmark, and the bytes that a token reads at least."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """GPT-2's architecture, or Llama's: rms_norm, rotary positions, grouped keys and values, SwiGLU."""

    layers: int
    model: int
    groups: int  # of heads that share keys and values
    heads: int  # of a group
    ffn: int
    vocab: int
    seq: int
    tokens: int  # generated, by default
    is_llama: bool = False

    @property
    def key(self):
        return self.model // (self.groups * self.heads)

    @property
    def parameters(self):
        """Those that each token reads: of GPT-2's positions, one row."""
        width = self.groups * self.key
        attention = 2 * self.model**2 + 2 * self.model * width
        if self.is_llama:
            block = attention + 3 * self.model * self.ffn + 2 * self.model
            return self.layers * block + self.vocab * self.model + self.model
        block = attention + 2 * self.model * self.ffn + 9 * self.model + self.ffn
        return self.layers * block + self.vocab * self.model + 3 * self.model

    def bytes(self, tokens):
        """Of parameters and of the caches' positions so far, on average over that many tokens from the first on."""
        return 4 * (self.parameters + self.layers * 2 * self.groups * self.key * tokens / 2)


SHAPES = {
    "stories260K": Shape(5, 64, 4, 2, 172, 512, 512, 500, is_llama=True),
    "gpt 4x256": Shape(4, 256, 4, 1, 1024, 256, 512, 500),
    "gpt2 124M": Shape(12, 768, 12, 1, 3072, 50304, 1024, 64),
}
