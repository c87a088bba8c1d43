"""Tests of the formulas, and that table.py --check can fail."""
import types, unittest

import minima, rows, table


def with_ratios(row, **ratios):
    """What would be found of a row with these ratios to the least; all others are 1, or what is known."""
    known = {what: ratio[0] for what, ratio in rows.KNOWN.get(row.name, {}).items()}
    figures = {what: getattr(row, what) * (known | ratios).get(what, 1) for what in ("bytes", "flops", "arena")}
    found = types.SimpleNamespace(**figures)
    found.ratio = lambda row, what: figures[what] / getattr(row, what)
    return found


def find_faults(row, size, **ratios):
    return list(table.find_faults(row, with_ratios(row, **ratios), size))


class Bounds(unittest.TestCase):
    def setUp(self):
        self.rows = {row.name: row for row in rows.make(rows.FULL)}

    def test_known_excesses_are_of_rows_and_exceed(self):
        for name, excesses in rows.KNOWN.items():
            self.assertIn(name, self.rows)
            for what, ratios in excesses.items():
                self.assertGreater(min(ratios), 1, name)
                self.assertGreater(max(ratios), 1.05 if what == "arena" else 1.02, name)

    def test_more_than_the_least_is_a_fault(self):
        row = self.rows["gpt2 tensor=4"]
        self.assertEqual(find_faults(row, "full"), [])
        for what, ratio in (("bytes", 1.03), ("flops", 1.03), ("arena", 1.06)):
            self.assertEqual(len(find_faults(row, "full", **{what: ratio})), 1, what)

    def test_less_than_the_least_is_a_fault(self):
        for what in ("bytes", "flops", "arena"):
            self.assertEqual(len(find_faults(self.rows["gpt2 tensor=4"], "full", **{what: 0.97})), 1, what)

    def test_known_excesses_must_not_grow(self):
        row = self.rows["llama model on tensor=4"]
        known = rows.KNOWN[row.name]["arena"][0]
        self.assertEqual(find_faults(row, "full"), [])
        self.assertEqual(find_faults(row, "full", arena=1), [])
        self.assertEqual(len(list(table.find_gains(row, with_ratios(row, arena=1), "full"))), 1)
        self.assertEqual(len(find_faults(row, "full", arena=known + 0.01)), 1)


class Formulas(unittest.TestCase):
    def setUp(self):
        self.gpt2 = rows.FULL["gpt2"]

    def test_parameters(self):
        published = minima.Transformer("gpt2", 1, 1024, 12, 768, 12, 64, 3072, 50257)
        self.assertEqual(sum(p.count() for p in published.parameters), 124_439_808)

    def test_blocks_of_uneven_sizes(self):
        table = next(p for p in self.gpt2.parameters if p.use == "table")
        self.assertEqual(table.count({"vocab": 4}), 12565 * 768)

    def test_a_ring_of_one_rank_sends_nothing(self):
        self.assertEqual(minima.reduce(10, 1), 0)
        self.assertEqual(minima.megatron(self.gpt2, 1024, 1), 0)
        self.assertEqual(minima.reduce_gradients(self.gpt2, {}, 1), 0)

    def test_data_parallelism(self):
        parameters = sum(p.count() for p in self.gpt2.parameters)
        self.assertEqual(minima.reduce_gradients(self.gpt2, {}, 4), 2 * 3 / 4 * parameters)

    def test_zero_3_sends_half_as_much_again_but_for_tables(self):
        once = [p.count() for p in self.gpt2.parameters if p.use in ("table", "end") or "model" not in p.dims]
        parameters = sum(p.count() for p in self.gpt2.parameters)
        expected = 7 / 8 * (3 * parameters - sum(once) + 1024 * 768 + 8 * 1024)
        self.assertAlmostEqual(minima.zero(self.gpt2, 3, 8), expected)

    def test_megatron(self):
        self.assertEqual(minima.megatron(self.gpt2, 1024, 4), 1.5 * (50 * 1024 * 768 + 3 * 1024))

    def test_flops(self):
        # 6 for each parameter of a product and token (arXiv 2001.08361), and attention: of 8 x 8 blocks of scores, 36.
        products = sum(p.count() for p in self.gpt2.parameters if len(p.dims) > 1 and {"model"} < set(p.dims) and "seq" not in p.dims)
        expected = 1024 * (6 * products + 12 * 14 * 512 * 36 / 64 * 768)
        self.assertAlmostEqual(sum(self.gpt2.flops(1).values()) / expected, 1)

    def test_scores_of_rings(self):
        # The last one of two ranks has 26 of the 36 blocks.
        self.assertEqual(self.gpt2.scores(), 36 * 64 * 64)
        self.assertEqual(self.gpt2.scores(2), 2 * 26 * 64 * 64)
        self.assertEqual(rows.SMALL["gpt2"].scores(), rows.SMALL["gpt2"].seq ** 2)

    def test_context_takes_the_cheaper_plan(self):
        # Keys and values of all heads, with as many keys as heads: the same. Three heads cannot be exchanged on two ranks.
        self.assertEqual(minima.context(self.gpt2, 512, 2, 2), 12 * 2 * 0.5 * 4 * 512 * 6 * 64)
        self.assertEqual(minima.context(self.gpt2, 512, 4, 2), 12 * 2 * 0.5 * 2 * 512 * 2 * 3 * 64)
        # Fewer keys and values than heads.
        llama = rows.FULL["llama"]
        self.assertEqual(minima.context(llama, 512, 2, 2), 12 * 2 * 0.5 * 2 * 512 * 2 * 2 * 64)

    def test_products_with_a_cut_model(self):
        tokens, projections, up, out, down = 1024 * 768, 768 * 2304 // 4, 768 * 3072 // 4, 768 * 768 // 4, 768 * 3072 // 4
        # Turned and kept so; the attention's result is gathered and kept so.
        expected = (tokens + projections) + (2 * tokens + projections) + (tokens + up) + (2 * tokens + up) + 2 * tokens + 2 * (tokens + down)
        self.assertEqual(minima.model_products(self.gpt2, 4, 1), 3 / 4 * expected)

    def test_weights_that_are_gathered_for_moved_tokens(self):
        moe = rows.FULL["moe"]
        # Queries, keys and values over 2 x 2 ranks: tokens move to the batch, weights are gathered, gradients of results are gathered.
        tokens, slots = 1024 * 512, 2 * 8 * 80
        projections = tokens / 2 + 512 * 768 + 1024 * 768
        experts = 4 * slots * 1024  # partial sums and inputs, forward and backward
        expected = projections + 2 * 1024 * 256 + experts + 2 * 1024 * 8
        self.assertEqual(minima.model_products(moe, 2, 2), 1 / 2 * expected)

    def test_tokens_that_travel_to_experts_under_zero(self):
        moe = rows.FULL["moe"]
        expert = 2 * 6 * 8 * 2048 * 512
        others = sum(p.count() for p in moe.parameters) - expert
        slots = 4 * 6 * 2 * 8 * 80 * 512
        self.assertAlmostEqual(minima.zero(moe, 1, 8), 7 / 8 * (2 * others + slots + expert / 8 + expert))
        once = sum(p.count() for p in moe.parameters if p.use in ("table", "end"))
        self.assertAlmostEqual(minima.zero(moe, 3, 8), 7 / 8 * (3 * others - once + 1024 * 512 + 8 * 1024 + slots + 2 * expert / 8))

    def test_sequence_parallelism(self):
        # The input of the feed-forward layer is gathered again.
        whole = 12 * 6 * 768 + 2 * 768
        expected = minima.megatron(self.gpt2, 1024, 4) + 3 / 4 * 12 * 1024 * 768 + 1.5 * whole
        self.assertAlmostEqual(minima.sequence_parallel(self.gpt2, 4), expected)
        # Slots are kept. The attention's result: a fourth of the tokens and a weight, instead of all tokens.
        moe = rows.FULL["moe"]
        saved = 6 * (1024 * 512 - 1024 * 512 / 4 - 512 * 512)
        whole = sum(p.count() for p in moe.parameters if set(p.dims) <= {"model", "choice"})
        self.assertAlmostEqual(minima.sequence_parallel(moe, 4), minima.megatron(moe, 1024, 4) - 3 / 4 * saved + 1.5 * whole)

    def test_turned_experts(self):
        # Over four ranks it is cheaper to turn the weights and to let slots travel than to leave partial sums.
        moe = rows.FULL["moe"]
        experts = 4 * 2 * 8 * 80 * 512 / 4 + 4 * 8 * 512 * 2048 / 4 + 2 * 1024 * 8
        tokens, projections, out = 1024 * 512, 512 * 1536 / 4, 1024 * 512
        attention = tokens + projections + (2 * tokens + projections) + 2 * out
        self.assertEqual(minima.model_products(moe, 4, 1), 3 / 4 * (experts + attention))

    def test_slots_and_turned_experts_are_kept(self):
        moe = rows.FULL["moe"]
        slots, turned = 6 * 2 * 8 * 80 * 512, 6 * 2 * 8 * 512 * 2048 / 8
        least = minima.arena(moe, minima.Cuts())
        self.assertEqual(minima.arena(moe, minima.Cuts(travels=True)), least + slots)
        self.assertEqual(minima.arena(moe, minima.Cuts(travels=True, turned=8)), least + slots + turned)

    def test_sequence_parallelism_keeps_what_it_has_gathered(self):
        seen = 12 * 1024 * 768
        least = minima.arena(self.gpt2, minima.Cuts())
        self.assertEqual(minima.arena(self.gpt2, minima.Cuts(gathered=True)), least + seen)
        moe = rows.FULL["moe"]
        seen, slots = 6 * 1024 * 512, 6 * 2 * 8 * 80 * 512
        self.assertEqual(minima.arena(moe, minima.Cuts(gathered=True)), minima.arena(moe, minima.Cuts()) + seen + slots)

    def test_moments_of_convolutions(self):
        cnn, large = rows.FULL["cnn"], rows.FULL["image"]
        # The gradient of the second convolution's windows: 25 times 32 channels of a fourth of the pixels.
        pixels = 16 * 64 * 64
        second = pixels * (3 + 32 + 8 + 25 * 8 + 5 * 8)
        self.assertEqual(minima.image_arena(cnn, 16, 1000, 8), 3000 + second)
        # With a fourth of the channels, the windows of the images are larger.
        first = pixels * (3 + 25 * 3 + 8)
        self.assertEqual(minima.image_arena(cnn, 16, 1000, 4, 4), 3000 + first)
        # The weight of the hidden layer has 134 million numbers; a rank has the gradient of a fourth of it.
        pixels, weight = 2 * 256 * 256 / 4, 64 * 64 * 64 * 512 / 4
        self.assertEqual(minima.image_arena(large, 2, 1000, 4, 1, 4), 3000 + weight + pixels * (3 + 40 + 20))

    def test_zero_3_of_a_wide_hidden_layer_moves_images(self):
        cnn = rows.FULL["cnn"]
        features, hidden = 16 * 256 * 64, 8 * 16 * 512
        small = 2 * 2400 + 2 * 25 * 32 * 64 + 2 * 512 * 10
        self.assertAlmostEqual(minima.image_zero(cnn, 3, 8), 7 / 8 * (2 * (features + hidden) + small))
        # In stages 1 and 2 the weight of the hidden layer is gathered for the forward pass, and its gradient computed in parts.
        for stage in (1, 2):
            self.assertAlmostEqual(minima.image_zero(cnn, stage, 8), 7 / 8 * (features + hidden + 256 * 64 * 512 + small))

    def test_slots_of_a_divided_sequence(self):
        moe = rows.FULL["moe"]
        # On two ranks of ring, with a feed-forward layer that two others divide: tokens are fewer than slots.
        tokens, slots = 512 * 512, 2 * 8 * 80 * 512
        expected = 4 * tokens / 2 + 4 * slots / 2 / 2 + 2 * tokens / 2 - 4 * tokens / 2 + 2 * 8 * 80
        self.assertEqual(minima.divided_slots(moe, 2, 2), 6 * expected)


if __name__ == "__main__":
    unittest.main()
