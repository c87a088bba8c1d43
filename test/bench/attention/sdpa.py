# sdpa.py BATCH HEADS SEQ KEY CAUSAL THREADS TYPE BIAS DOCUMENTS: the best milliseconds of some calls of PyTorch's
# scaled_dot_product_attention, forward and gradient, of tensors in the memory order of a model. With BIAS,
# a learned table has a bias for each head and distance of two positions. Of several DOCUMENTS in a text,
# each sees itself alone.
import sys
import time

import torch

batch, heads, seq, key, causal, threads = map(int, sys.argv[1:7])
dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[sys.argv[7]]
torch.set_num_threads(threads)
torch.manual_seed(1)
q, k, v, g = (torch.randn(batch, seq, heads, key).to(dtype).transpose(1, 2) for _ in range(4))
inputs = [q, k, v]
if int(sys.argv[8]):
    inputs.append(torch.randn(heads, 2 * seq - 1).to(dtype))
    positions = torch.arange(seq)
    distance = positions[None, :] - positions[:, None] + seq - 1
    hidden = positions[None, :] > positions[:, None]
documents = int(sys.argv[9])
allowed = None
if documents:
    document = torch.arange(seq) * documents // seq
    allowed = document[:, None] == document[None, :]
    if causal:
        allowed &= torch.ones(seq, seq, dtype=torch.bool).tril()
for x in inputs:
    x.requires_grad_()


def attend():
    if documents:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    if len(inputs) == 3:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
    bias = inputs[3][:, distance]
    if causal:
        bias = bias.masked_fill(hidden, -torch.inf)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


forward = backward = 1e9
for _ in range(20):
    begin = time.perf_counter()
    y = attend()
    middle = time.perf_counter()
    torch.autograd.grad(y, inputs, g)
    end = time.perf_counter()
    forward, backward = min(forward, middle - begin), min(backward, end - middle)
print(f"{forward * 1e3:.3f} {backward * 1e3:.3f}")
