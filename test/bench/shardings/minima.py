"""The least that a training step sends, computes and keeps under a layout: formulas over the sizes of a model.
docs/rationale/layouts-and-minima.md explains them.

Counts are elements of f32. Of what a rank sends: an all_reduce of n elements among k ranks takes 2(k-1)/k n; a
reduce_scatter, all_gather or all_to_all whose whole has n elements takes (k-1)/k n (Patarasuk and Yuan 2009).
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
    dims: dict  # sizes by name, without the loop's
    layers: int = 1
    use: str = "layer"  # layer, expert, table (lookup and logits), lookup, logits, end

    def count(self, cuts={}):
        """Elements of a rank's block. `cuts` are numbers of ranks by dims."""
        return self.layers * prod(ceil(size / cuts.get(dim, 1)) for dim, size in self.dims.items())


@dataclass(frozen=True)
class Transformer:
    """`batch` is that of one rank of data. `groups` of heads share keys and values; 0: each head has its own."""

    name: str
    batch: int
    seq: int
    layers: int
    model: int
    heads: int
    key: int
    ffn: int
    vocab: int
    groups: int = 0
    experts: int = 0

    @property
    def tokens(self):
        return self.batch * self.seq

    @property
    def kv(self):
        return self.groups or self.heads

    @property
    def slots(self):
        """Of all experts, for the sequences of a rank of data."""
        return self.batch * self.experts * int(1.25 * self.seq / self.experts) if self.experts else 0

    @property
    def sizes(self):
        """Of the dims that a model's text declares."""
        sizes = {"seq": self.seq, "layers": self.layers, "model": self.model, "heads": self.heads // (self.groups or 1),
                 "key": self.key, "ffn": self.ffn, "vocab": self.vocab}
        optional = {"groups": self.groups, "experts": self.experts}
        return sizes | {name: size for name, size in optional.items() if size}

    @property
    def parameters(self):
        d, vocab = {"model": self.model}, {"vocab": self.vocab, "model": self.model}
        query, kv = {"heads": self.heads, "key": self.key}, {"heads": self.heads, "key": self.key}
        if self.groups:
            query = {"groups": self.groups, "heads": self.heads // self.groups, "key": self.key}
            kv = {"groups": self.groups, "key": self.key}
        stack, rest = [query | d, kv | d, kv | d, query | d, d, d], [Parameter(d, use="end")]
        if self.groups:
            stack += 3 * [d | {"ffn": self.ffn}]
            rest += [Parameter(vocab, use="lookup"), Parameter(vocab, use="logits")]
        else:
            stack += [d, d]  # biases of the norms
            rest += [Parameter(vocab, use="table"), Parameter({"seq": self.seq} | d, use="end"), Parameter(d, use="end")]
        if self.experts:
            stack.append(d | {"choice": self.experts})
            rest += 2 * [Parameter({"experts": self.experts, "ffn": self.ffn} | d, self.layers, "expert")]
        elif not self.groups:
            stack += 2 * [d | {"ffn": self.ffn}] + 3 * [query] + [{"ffn": self.ffn}, d, d]
        return rest + [Parameter(dims, self.layers) for dims in stack]

    def scores(self, ring=1):
        """Of a head and text, in blocks of 64 x 64, of which the causal mask allows something. The last of the ranks of a ring has
        most of them, and counts for all."""
        rows = -(-self.seq // ring)
        starts = range(self.seq - rows, self.seq, 64)
        ends = [min(start + 64, self.seq) for start in starts]
        return ring * sum((end - start) * min(-(-end // 64) * 64, self.seq) for start, end in zip(starts, ends))

    def flops(self, data, ring=1):
        """Of the products of a step, by what divides them. A product has two backward. Attention has 2 products forward and
        5 backward."""
        tokens, slots = self.tokens * data, self.slots * data
        d, layers = self.model, self.layers
        cut = 6 * tokens * d * self.key * 2 * self.heads + 14 * self.batch * data * self.scores(ring) * self.heads * self.key
        cut += 6 * slots * 2 * d * self.ffn if self.experts else 6 * tokens * d * self.ffn * (3 if self.groups else 2)
        return {"layers": layers * cut, "kv": layers * 6 * tokens * d * self.key * 2 * self.kv,
                "router": layers * 6 * tokens * d * self.experts, "vocab": 6 * tokens * d * self.vocab}


# === What is sent ===


def reduce_gradients(m, cuts, data, ring=1):
    """Each gradient once, among the ranks that have different entries of the batch or of seq (DistributedDataParallel: Li et
    al., arXiv 2006.15704). The gradient of a table that is only looked up may instead be added up from the gradients of all
    looked up rows (Parallax: Kim et al., arXiv 1808.02621). Experts that `ring` divides are reduced by their halves. Or tokens
    travel to the experts of a rank, as if these were cut, and their gradients are gathered: both experts' products share the way."""
    total = 0
    for p in m.parameters:
        n, ranks = p.count(cuts | {"seq": ring}), data * (1 if "seq" in p.dims else ring)
        if p.use == "expert":
            traveled = move(n / ring, data) + experts(m, data, ring) / 2
            total += 0 if "experts" in cuts else min(reduce(n / ring, data), traveled) + move(n, ring)
        elif p.use == "lookup":
            total += min(reduce(n, ranks), move(m.tokens * data * (m.model + 1), ranks))
        else:
            total += reduce(n, ranks)
    return total


def megatron(m, tokens, k):
    """Shoeybi et al., arXiv 1909.08053: each layer all-reduces its tokens twice forward and twice backward, the lookup of
    the embedding once forward, the logits once backward. Cross-entropy takes three numbers per token."""
    return reduce((4 * m.layers + 2) * tokens * m.model + 3 * tokens, k)


def sequence_parallel(m, k):
    """Korthikanti et al., arXiv 2205.05198: an all_gather and a reduce_scatter for each all_reduce. The input of the feed-forward
    layer is kept cut, and gathered again for the gradient of its weight. That of the attention has another name where keys and values
    see it, and slots have no seq: the layout cuts neither, and both may be kept gathered. Gradients of parameters that no axis cuts are
    partial sums. Where tokens are many, the result of the attention changes from parts of the heads to parts of seq instead of being
    scattered, for a weight that is gathered."""
    whole = sum(p.count() for p in m.parameters if not {"heads", "groups", "ffn", "vocab", "seq"} & set(p.dims))
    nd, width = m.tokens * m.model, m.heads * m.key
    again = 0 if m.experts else nd
    saved = max(0, nd - m.tokens * width / k - m.model * width)
    return megatron(m, m.tokens, k) + move(m.layers * (again - saved), k) + reduce(whole, k)


def shared_groups(m, k):
    """Megatron's, where the axis cuts the heads of each group: keys and values are whole. Either their gradients are reduced
    or those of their weights."""
    return megatron(m, m.tokens, k) + reduce(m.layers * 2 * m.kv * m.key * min(m.tokens, m.model), k)


def context(m, tokens, heads, ring):
    """Parts of a sequence see each other's keys and values; `tokens` are a rank's, `heads` the ranks that divide the heads.
    Keys and values are gathered forward and kept so, as the layout does not cut memory, and their gradients are scattered. Ring
    attention (Liu et al., arXiv 2310.01889) gathers them again backward. Or queries, keys, values and results, and their
    gradients, change from parts of seq to parts of the heads and back (DeepSpeed-Ulysses: Jacobs et al., arXiv 2309.14509)."""
    gathered = 2 * move(2 * tokens * ring * m.kv // heads * m.key, ring)
    exchanged = 2 * move(2 * tokens * (m.heads + m.kv) // heads * m.key, ring)
    return m.layers * (min(gathered, exchanged) if m.kv // heads % ring == 0 else gathered)


def zero(m, stage, k):
    """Rajbhandari et al., arXiv 1910.02054: gradients are scattered and parameters gathered, in stage 3 forward and again
    backward. The logits' table is gathered once, as backward begins where forward ends. Where a table's columns are cut,
    looked up rows move instead of the table, and so do their gradients unless the table's is scattered anyway. Tokens may travel to the experts of a rank (reduce_gradients): then parts of model are
    changed to parts of the experts by all_to_alls and kept so, and gradients back, instead of what is gathered and scattered."""
    rows, ids = move(m.tokens * m.model, k), move(m.tokens * k, k)
    total = 0
    for p in m.parameters:
        n = move(p.count(), k)
        turned, traveled = n / k, experts(m, k) / 2
        if p.use == "expert":
            total += min(2 * n, n + turned + traveled) if stage < 3 else min(3 * n, 2 * turned + traveled)
        elif stage < 3 or "model" not in p.dims:
            total += min(2 * n, n + rows + ids) if p.use == "lookup" else 2 * n
        else:
            total += {"layer": 3, "table": 2, "lookup": 0, "logits": 2, "end": 2}[p.use] * n
            total += {"lookup": 2 * rows + ids, "table": rows + ids}.get(p.use, 0)
    return total


def experts(m, k, parts=1):
    """Tokens travel to their experts and back by all_to_alls of all slots, forward and backward (GShard: Lepikhin et al.,
    arXiv 2006.16668)."""
    return 4 * m.layers * move(m.slots * m.model / parts, k)


def divided_slots(m, ring, k):
    """Parts of a sequence fill the slots of one set of experts: ranks sum what they found, each for its part of the experts, and
    gather the results; backward likewise. Or each of the k ranks that divide ffn gathers its part of the tokens' model, finds its part
    of all slots there, and has the results scattered so; backward likewise. Then the k ranks gather the slots and scatter
    the results, and gather the tokens, instead of the two all_reduces of a layer. The numbers of the tokens in the slots are summed
    first."""
    tokens, slots = m.tokens // ring * m.model, m.slots * m.model
    summed = 4 * move(slots, ring)
    gathered = 4 * move(tokens * ring / k, ring) + 4 * move(slots / ring, k) + 2 * move(tokens, k) - 2 * reduce(tokens, k)
    return m.layers * (min(summed, gathered) + reduce(m.slots, ring))


def layer_weights(m):
    return sum(p.count() for p in m.parameters if p.use in ("layer", "expert") and len(p.dims) > 1) / m.layers


def model_products(m, r, c):
    """The products of a layer, each in the cheapest of these ways.

    Those that sum over model gather their input for a weight that is turned, or move it to parts of the batch for a weight that is
    gathered, or leave partial sums, which are scattered along the batch. Backward they gather the gradients of their results, and need
    nothing else; or they gather their input again, scatter its gradient, and turn that of the weight, and the weight unless it was kept so.

    Those that make model scatter their result, of a weight that is turned and kept so, or gather their input and keep it: the layout
    does not cut it. Backward they gather the gradient of the result, and turn what was not kept: the gradient of the weight, or the weight.
    Or they gather the input unless it was kept, and scatter its gradient.

    Experts compute on slots, which hold the tokens that were gathered. Or their weights are turned to parts of the experts, and
    slots travel to them from parts of model and back."""
    d, nd = m.model, m.tokens * m.model

    def into(numbers, width, weights):
        weight, results = weights * d * width / r, numbers * width
        return min(nd + weight + min(2 * nd + weight, results), nd / r + weight * r + results, results + min(2 * nd + 2 * weight, results))

    def out_of(numbers, width, weights):
        weight, inputs = weights * d * width / r, numbers * width
        return min(nd + weight + min(nd + weight, 2 * inputs), inputs + min(nd + weight, inputs))

    rows, count = (m.slots, m.experts) if m.experts else (m.tokens, 1)
    feedForward = into(rows, (2 if m.groups else 1) * m.ffn / c, count) + out_of(rows, m.ffn / c, count)
    if m.experts:
        feedForward = min(feedForward, 4 * m.slots * d / r + 4 * m.experts * d * m.ffn / c / r)
        feedForward += 2 * m.tokens * m.experts  # the router's partial sums
    total = into(m.tokens, (m.heads + 2 * m.kv) * m.key / c, 1) + out_of(m.tokens, m.heads * m.key / c, 1) + feedForward
    return move(total, r)


def model_cut(m, r, c=1):
    """`model -> rows` (r), and heads, ffn and vocab -> cols (c): the bytes and the names of the cheapest plans for the layers
    and for the logits. Plans over rows:

    products: each for itself, see model_products; the logits and their table are turned, or
    partial: the logits are partial sums, which are reduce-scattered along the batch, and their gradients are gathered
    (Mesh-TensorFlow's two-dimensional layout: Shazeer et al., arXiv 1811.02084).
    moved: activations change their cut from model to the batch by an all_to_all, at both ends of a layer and back; weights are
    gathered forward and backward, and their gradients scattered, as in ZeRO-3.

    Over cols they are Megatron's. Norms of cut tokens take two sums per token forward and two backward."""
    tokens, nd, weights, table = m.tokens, m.tokens * m.model, layer_weights(m) / c, m.vocab * m.model / c
    norms, overCols = 4 * reduce(2 * tokens, r), reduce(nd / r, c)
    layers = {"products": model_products(m, r, c) + norms,
              "moved": 3 * move(weights, r) + 4 * move(nd / r, r)}
    ends = {"partial": 2 * move(m.vocab / c * tokens, r) + reduce(3 * tokens / r, c),
            "turned": 2 * move(table / r, r) + 2 * move(nd, r) + reduce(3 * tokens, r * c),
            "moved": 2 * move(table, r) + 2 * move(nd / r, r) + reduce(3 * tokens / r, c)}
    total = m.layers * (min(layers.values()) + 4 * overCols) + min(ends.values()) + 2 * overCols
    return total, min(layers, key=layers.get), min(ends, key=ends.get)


# === What is kept ===


@dataclass(frozen=True)
class Cuts:
    """How many ranks divide what: `dims` of parameters, `state` those of the optimizer's state and of reduced gradients,
    `inner` heads and ffn, `kv` keys and values, `vocab`, `norms` the inputs of norms; `tokens` are a rank's. `travels`: slots travel to
    whole experts, and are kept there. `turned`: so many ranks keep turned parts of the experts. `gathered`: each rank keeps what it
    has gathered and the layout does not cut, the attention's input along `memory` and slots (sequence_parallel)."""

    dims: dict = field(default_factory=dict)
    state: dict = field(default_factory=dict)
    tokens: int = 0
    inner: int = 1
    kv: int = 1
    vocab: int = 1
    norms: int = 1
    travels: bool = False
    turned: int = 0
    gathered: bool = False


def arena(m, cuts):
    """Elements of a rank's arena with AdamW (docs/rationale/zero-memory.md): parameters, state, what layers keep for their
    gradients, and the larger of two moments. Where backward begins: logits, and the gradient of their table. In the first
    iteration of the backward loop: the gradient of a tied table, and the work of a layer with the gradient of one of its
    weights. A gradient updates its parameter at once."""
    T, d, inner = cuts.tokens or m.tokens, m.model, cuts.inner
    state = sum(p.count(cuts.dims) + 2 * p.count(cuts.state) for p in m.parameters)
    gates = 2 if m.groups else 1
    slots = m.slots / m.tokens * T if m.experts else T
    kept = T * (2 * d / cuts.norms + (2 * m.heads / inner + 2 * m.kv / cuts.kv) * m.key + m.heads / inner) + slots * gates * m.ffn / inner
    kept += T * d if cuts.gathered else 0
    if m.experts:
        kept += T * (d / cuts.norms + 2 * m.experts)
        kept += slots * d if "experts" in cuts.dims or cuts.travels or cuts.gathered else 0
        if cuts.turned:
            kept += sum(p.count() for p in m.parameters if p.use == "expert") / m.layers / cuts.turned
    table = m.vocab * d / cuts.vocab
    begin = T * m.vocab / cuts.vocab + T * d * (1 + 3 / cuts.norms) + table
    weight = max(p.count(cuts.dims) for p in m.parameters if p.use in ("layer", "expert")) / m.layers
    inLoop = (0 if m.groups else table) + weight + 2 * slots * m.ffn / inner + 4 * T * d / cuts.norms
    return state + m.layers * kept + max(begin, inLoop)


# === Convolutions ===


@dataclass(frozen=True)
class Convolutions:
    """`batch` is that of one rank of data."""

    name: str
    batch: int
    row: int
    col: int
    color: int
    window: int
    first: int
    second: int
    hidden: int
    classes: int

    @property
    def sizes(self):
        return {"row": self.row, "col": self.col, "color": self.color, "tall": self.window, "wide": self.window,
                "first": self.first, "second": self.second, "hidden": self.hidden, "class": self.classes}

    @property
    def area(self):
        return self.row * self.col

    @property
    def weights(self):
        taps = self.window**2
        return [taps * self.color * self.first, taps * self.first * self.second,
                self.area // 16 * self.second * self.hidden, self.hidden * self.classes]

    def flops(self, data):
        """Of a step, by what divides them; images have no gradient."""
        one, two, three, four = self.weights
        return {"images": self.batch * data * (4 * self.area * one + 6 * self.area // 4 * two + 6 * three),
                "classes": self.batch * data * 6 * four}


def parts(m, k, cut, whole):
    """What it takes to change from images on k ranks to parts of one operand's columns, `cut` per image, and to gather the other
    operand, or to scatter partial sums of the result, `whole` per image."""
    return move(m.batch * cut + k * m.batch * whole, k)


def product_gradient(m, k, n, a, b):
    """Of a product's weight with n = a * b entries. It is reduced; or rows of one operand change to parts of its columns, rows of
    the other one are gathered, and so are the parts of the gradient that ranks compute (Krizhevsky, arXiv 1404.5997, for both
    directions)."""
    return min(reduce(n, k), move(n, k) + parts(m, k, a, b), move(n, k) + parts(m, k, b, a))


def image_gradients(m, k, c=1):
    """Images on k ranks of data, channels on c. Gradients of convolutions are reduced."""
    one, two, three, four = (n / c for n in m.weights)
    return (reduce(one + two, k) + product_gradient(m, k, three, m.area // 16 * m.second, m.hidden / c)
            + product_gradient(m, k, four, m.hidden / c, m.classes))


def image_zero(m, stage, k):
    """ZeRO along `second`, which is a dim of the second convolution and of the hidden layer. The convolution's weight is gathered
    once, and so is the hidden layer's: no loop lies between forward and backward. The gradient of the hidden layer's is scattered, or computed in parts. In stage 3 each rank may instead have its part of all
    images' features, from which partial sums of the hidden layer are scattered; backward likewise."""
    one, two, three, four = m.weights
    turned = parts(m, k, m.area // 16 * m.second, m.hidden)
    rest = reduce(one, k) + product_gradient(m, k, four, m.hidden, m.classes)
    rest += 2 * move(two, k)
    return rest + (min(move(three, k), turned) + move(three, k) if stage < 3 else min(2 * move(three, k), 2 * turned))


def channels(m, k):
    """Megatron's cut of two pairs of products: the results of the second convolution and of the last product are
    partial sums, and backward the gradient of what the hidden layer reads. The one between the pairs may be reduced
    before or behind the pooling, for the same sum."""
    return reduce(m.batch * (m.area // 4 * m.second + m.classes + m.area // 16 * m.second), k)


def halo(m, k):
    """The rows of an image on k ranks. A convolution needs rows of the neighbours' blocks, half a window on either
    side, and sends back their gradients (Dryden et al., arXiv 1903.06681); images have none. The hidden layer's result is
    a partial sum, and the gradients of the two convolutions' weights are."""
    rows = (m.window - 1) // (1 if k > 2 else 2)
    one, two, _, _ = m.weights
    return m.batch * rows * m.col * (m.color + 2 * m.first / 2) + reduce(m.batch * m.hidden + one + two, k)


def image_arena(m, batch, weights, ranks, first=1, rows=1):
    """Elements of a rank's arena: parameters and state, images, and the largest of three moments. The first convolution has its
    windows and its result, or the result's gradient. In the gradient of the second one, there are the first one's result, before
    and after the pooling, the gradient of its windows, and that of the rows in which the windows lie. And where the hidden layer
    has the gradient of its weight, a part on each of the ranks, there are the results of both convolutions and their poolings."""
    area, first = batch * m.area / rows, m.first / first
    one = m.window**2 * m.color + first
    two = first + first / 4 + (m.window**2 + m.window) * first / 4
    three = 5 / 4 * first + (1 / 4 + 1 / 16) * m.second + m.weights[2] / ranks / area
    return 3 * weights + area * (m.color + max(one, two, three))
