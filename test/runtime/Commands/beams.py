"""Prints what BeamSearchTest expects: beam search as Hugging Face's `generate` does it (a step takes the best 2 N extensions;
those that end and are among the best N become candidates, others fill the beams), with the length penalty of arXiv 1609.08144,
by PyTorch alone.
"""
import math

import torch

VOCAB, END = 6, 5


def logits(text):
    """Of the token that follows: a function of the last two tokens and the length."""
    last, before = text[-1], text[-2] if len(text) > 1 else 0
    return torch.tensor([2.5 * math.sin(1.7 * t + 2.3 * last + 0.9 * before * t + 0.4 * len(text)) for t in range(VOCAB)],
                        dtype=torch.float64)


def search(prompt, beams, most, penalty):
    score = lambda log_p, n: log_p / ((5 + n) / 6) ** penalty
    live, ended = [(0.0, prompt)], []
    for n in range(1, most + 1):
        log_p = torch.stack([p + torch.log_softmax(logits(text), 0) for p, text in live])
        best = torch.topk(log_p.flatten(), min(2 * beams, log_p.numel()))
        following = []
        for rank, (p, flat) in enumerate(zip(best.values.tolist(), best.indices.tolist())):
            text, token = live[flat // VOCAB][1], flat % VOCAB
            if token == END:
                if rank < beams:
                    ended.append((score(p, n), text))
            elif len(following) < beams:
                following.append((p, text + [token]))
        ended = sorted(ended, reverse=True)[:beams]
        live = following
        if len(ended) == beams and score(live[0][0], most) <= ended[-1][0]:
            break
    return max(ended + [(score(live[0][0], n), live[0][1])])


for beams in (1, 2, 4):
    for penalty in (0.0, 0.6, 2.0):
        value, text = search([1], beams, 12, penalty)
        print(f"      {{{beams}, {penalty}, {{{', '.join(map(str, text))}}}, {value:.12f}}},")
