"""The least that a training step sends and computes under a layout: formulas over the sizes of a model.
docs/rationale/layouts-and-minima.md derives them.

Counts are elements of f32 that one rank sends. An all_reduce of n elements among k ranks sends 2(k-1)/k n; a
reduce_scatter, all_gather or all_to_all whose whole has n elements sends (k-1)/k n (Patarasuk and Yuan 2009).
"""
from dataclasses import dataclass, field
from math import ceil, prod


def reduce(n, k):
    """An all_reduce of n elements among k ranks."""
    return 2 * (k - 1) / k * n


def move(n, k):
    """A reduce_scatter, all_gather or all_to_all with a whole of n elements among k ranks."""
    return (k - 1) / k * n


@dataclass(frozen=True)
class Parameter:
    dims: dict  # sizes by name, without those of the loop
    layers: int = 1
    isExpert: bool = False
    use: str = "layer"  # layer, table (lookup and logits), lookup, logits, end

    def count(self, cuts={}):
        """Elements of a rank's block. `cuts` are numbers of ranks by dims."""
        return self.layers * prod(ceil(size / cuts.get(dim, 1)) for dim, size in self.dims.items())


@dataclass(frozen=True)
class Transformer:
    """`batch` is that of one rank of data."""

    name: str
    batch: int
    seq: int
    layers: int
    model: int
    heads: int
    key: int
    ffn: int
    vocab: int
    groups: int = 0  # of heads that share keys and values; 0: each head has its own
    experts: int = 0
    parameters: list = field(default_factory=list, compare=False)

    @property
    def kv(self):
        return self.groups or self.heads

    @property
    def slot(self):
        return self.experts and int(1.25 * self.seq / self.experts)

    def sets(self, data):
        """The words of --set; `data` is the number of ranks that share the batch."""
        sizes = {"batch": self.batch * data, "seq": self.seq, "layers": self.layers, "model": self.model, "ffn": self.ffn,
                 "heads": self.heads // (self.groups or 1), "key": self.key, "vocab": self.vocab}
        if self.groups:
            sizes["groups"] = self.groups
        if self.experts:
            sizes["experts"] = self.experts
        return [f"{name}={size}" for name, size in sizes.items()]

    def flops(self, data):
        """Of the products of a step, by what divides them. A backward pass has two products for each one forward.
        Attention counts all scores; its gradient computes them again: 2 products forward, 5 backward."""
        tokens = self.batch * data * self.seq
        d, layers = self.model, self.layers
        dense = 6 * tokens * d * self.key * (2 * self.heads + 2 * self.kv)
        dense += 14 * tokens * self.seq * self.heads * self.key
        if self.experts:
            slots = self.batch * data * self.experts * self.slot
            dense += 6 * slots * 2 * d * self.ffn + 6 * tokens * d * self.experts
        else:
            dense += 6 * tokens * d * self.ffn * (3 if self.groups else 2)
        return {"layers": layers * dense, "vocab": 6 * tokens * d * self.vocab}


def make(name, batch, seq, layers, model, heads, key, ffn, vocab, groups=0, experts=0):
    d, kv = {"model": model}, {"groups": groups, "key": key} if groups else {"heads": heads, "key": key}
    query = {"groups": groups, "heads": heads // groups, "key": key} if groups else {"heads": heads, "key": key}
    stack = [query | d, kv | d, kv | d, query | d, d, d]
    rest = [Parameter(d, use="end")]
    if groups:
        stack += 3 * [d | {"ffn": ffn}]
        rest += [Parameter({"vocab": vocab} | d, use=use) for use in ("lookup", "logits")]
    else:
        stack += [d, d]  # biases of the norms
        rest += [Parameter({"vocab": vocab} | d, use="table"), Parameter({"seq": seq} | d, use="end"), Parameter(d, use="end")]
    parameters = rest
    if experts:
        stack.append(d | {"choice": experts})
        parameters += 2 * [Parameter({"experts": experts, "ffn": ffn} | d, layers, isExpert=True)]
    elif not groups:
        stack += 2 * [d | {"ffn": ffn}] + 3 * [query] + [{"ffn": ffn}, d, d]
    parameters += [Parameter(dims, layers) for dims in stack]
    return Transformer(name, batch, seq, layers, model, heads, key, ffn, vocab, groups, experts, parameters)


def reduce_gradients(m, axes, data, ring=1):
    """Gradients of blocks that several ranks compute from their own entries of the batch and of seq, once per step (DDP:
    Li et al., arXiv 2006.15704). The gradient of a table that is only looked up may instead be computed from gathered
    rows (Parallax: Kim et al., arXiv 1808.02621)."""
    total = 0
    for p in m.parameters:
        cuts = axes | ({"seq": ring} if ring > 1 else {})
        ranks = data if "seq" in p.dims or "experts" in axes and p.isExpert else data * ring
        if "experts" in axes and p.isExpert:
            ranks = ring
        best = reduce(p.count(cuts), ranks)
        if p.use == "lookup":
            tokens = m.batch * data * m.seq
            best = min(best, move(tokens * (m.model + 1), ranks))
        total += best
    return total


def megatron(m, tokens, k):
    """Shoeybi et al., arXiv 1909.08053: forward and backward, each layer all-reduces its tokens twice; so do the lookup
    of the embedding forward and the logits backward. Cross-entropy needs three numbers per token."""
    return reduce((4 * m.layers + 2) * tokens * m.model + 3 * tokens, k)


def sequence_parallel(m, tokens, k):
    """Korthikanti et al., arXiv 2205.05198: an all_gather and a reduce_scatter for each all_reduce. Inputs of products
    are kept cut, and gathered again for the gradients of weights: two more all_gathers per layer. Gradients of
    parameters that no axis cuts are partial sums."""
    small = sum(p.count() for p in m.parameters if not {"heads", "groups", "ffn", "vocab", "seq"} & set(p.dims))
    return megatron(m, tokens, k) + move(2 * m.layers * tokens * m.model, k) + reduce(small, k)


def context(m, tokens, heads, ring):
    """The parts of a sequence see each other's keys and values. Either these are gathered forward, again backward, and
    their gradients scattered (ring attention: Liu et al., arXiv 2310.01889, sends as much), or queries, keys, values
    and results, and their gradients, change from parts of seq to parts of the heads and back (DeepSpeed-Ulysses: Jacobs
    et al., arXiv 2309.14509)."""
    gathered = 3 * move(2 * tokens * ring * m.kv // heads * m.key, ring)
    exchanged = 2 * move(2 * tokens * (m.heads + m.kv) // heads * m.key, ring)
    isDivided = m.kv // heads % ring == 0
    return m.layers * (min(gathered, exchanged) if isDivided else gathered)


def zero(m, stage, k):
    """Rajbhandari et al., arXiv 1910.02054: gradients are scattered and parameters gathered, in stage 3 forward and
    backward. The looked up rows of a table whose columns are cut move as activations, forward and backward; the
    logits' table is gathered once, since backward begins where forward ends."""
    rows = move(m.batch * m.seq * m.model, k)  # from columns to tokens
    ids = move(m.batch * k * m.seq, k)
    total = 0
    for p in m.parameters:
        n = move(p.count(), k)
        if stage < 3 or "model" not in p.dims:
            total += min(2 * n, n + rows + ids) if p.use == "lookup" else 2 * n
        else:
            gathers = {"layer": 2, "table": 1, "lookup": 0, "logits": 1, "end": 1}[p.use]
            total += (gathers + (p.use != "lookup")) * n
            total += 2 * rows + ids if p.use in ("lookup", "table") else 0
    return total


def experts(m, k):
    """Tokens travel to their experts and back by all_to_alls of all slots, forward and backward (GShard: Lepikhin et al.,
    arXiv 2006.16668)."""
    return 4 * m.layers * move(m.batch * m.experts * m.slot * m.model, k)


def weights_of_layer(m):
    return sum(p.count() for p in m.parameters if p.use == "layer" and len(p.dims) > 1) / m.layers


def results_of_layer(m, tokens):
    """What the products of a layer forward make that sum over model, and what those that make it sum over instead."""
    wide = (m.heads + 2 * m.kv) * m.key + (2 if m.groups else 1) * m.ffn
    return tokens * wide, tokens * (m.heads * m.key + m.ffn)


def model_cut(m, tokens, r, c=1):
    """`model -> rows` (r), and heads, ffn and vocab -> cols (c). Plans over rows; the cheapest one counts, for the layers
    and for the logits each:
    partial: products that sum over model leave partial sums, which are reduce-scattered along the batch; the ones that
    make it gather their operand. Backward is the reverse.
    turned: weights change their cut from model to heads and ffn by an all_to_all, once forward, and their gradients
    back; then sequence parallelism's collectives along model, where an input is gathered again backward.
    moved: activations change their cut from model to batch by an all_to_all at both ends of a layer and back; weights are
    gathered forward and backward, and their gradients scattered, as in ZeRO-3.
    Over cols they are Megatron's."""
    nd, weights, table = tokens * m.model, weights_of_layer(m) / c, m.vocab * m.model / c
    norms = 2 * reduce(2 * tokens, r) * 2
    overCols = reduce(nd / r, c)
    layers = {"partial": 2 * move(sum(results_of_layer(m, tokens)) / c, r) + norms,
              "turned": 2 * move(weights / r, r) + 10 * move(nd, r) + norms,
              "moved": 3 * move(weights, r) + 4 * move(nd / r, r)}
    ends = {"partial": 2 * move(m.vocab / c * tokens, r) + reduce(3 * tokens / r, c),
            "turned": 2 * move(table / r, r) + 2 * move(nd, r) + reduce(3 * tokens, r * c),
            "moved": 2 * move(table, r) + 2 * move(nd / r, r) + reduce(3 * tokens / r, c)}
    total = m.layers * (min(layers.values()) + 4 * overCols) + min(ends.values()) + 2 * overCols
    return total, min(layers, key=layers.get), min(ends, key=ends.get)


@dataclass(frozen=True)
class Convolutions:
    """`batch` is that of one rank of data."""

    batch: int
    row: int
    col: int
    color: int
    window: int
    first: int
    second: int
    hidden: int
    classes: int

    def sets(self, data):
        return [f"batch={self.batch * data}", f"row={self.row}", f"col={self.col}", f"color={self.color}",
                f"tall={self.window}", f"wide={self.window}", f"first={self.first}", f"second={self.second}",
                f"hidden={self.hidden}", f"class={self.classes}"]

    def weights(self, k=1):
        """Elements of the four weights, where `first` and `hidden` are cut over k ranks."""
        taps, flat = self.window**2, self.row * self.col // 16 * self.second
        return [taps * self.color * self.first // k, taps * self.first * self.second // k, flat * self.hidden // k,
                self.hidden * self.classes // k]

    def flops(self, data):
        """Of a step; images have no gradient."""
        images = self.batch * data
        one, two, three, four = self.weights()
        area = self.row * self.col
        return {"layers": images * (4 * area * one + 6 * area // 4 * two + 6 * three), "vocab": images * 6 * four}


def channels(m, k):
    """Megatron's cut of two pairs of products: the results of the second convolution and of the last product are
    partial sums, and backward the gradient of what the hidden layer reads. The one between the pairs may be reduced
    before or behind the pooling, for the same sum."""
    area = m.row * m.col
    return reduce(m.batch * (area // 4 * m.second + m.classes + area // 16 * m.second), k)


def halo(m, k):
    """The rows of an image on k ranks. A convolution needs rows of its neighbours' blocks, half a window on either
    side, and sends back their gradients (Dryden et al., arXiv 1903.06681); images have none. The hidden layer's result is a
    partial sum, and the gradients of the two convolutions' weights are."""
    rows = (m.window - 1) // (1 if k > 2 else 2)
    exchanged = m.batch * rows * m.col * (m.color + 2 * m.first / 2)
    one, two, _, _ = m.weights()
    return exchanged + reduce(m.batch * m.hidden + one + two, k)
