# sdpa.py BATCH HEADS SEQ KEY CAUSAL THREADS TYPE: the best milliseconds of some calls of PyTorch's
# scaled_dot_product_attention, forward and gradient, of tensors in the memory order of a model.
import sys
import time

import torch

batch, heads, seq, key, causal, threads = map(int, sys.argv[1:7])
dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[sys.argv[7]]
torch.set_num_threads(threads)
torch.manual_seed(1)
q, k, v, g = (torch.randn(batch, seq, heads, key).to(dtype).transpose(1, 2) for _ in range(4))
for x in (q, k, v):
    x.requires_grad_()
forward = backward = 1e9
for _ in range(20):
    begin = time.perf_counter()
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
    middle = time.perf_counter()
    torch.autograd.grad(y, (q, k, v), g)
    end = time.perf_counter()
    forward, backward = min(forward, middle - begin), min(backward, end - middle)
print(f"{forward * 1e3:.3f} {backward * 1e3:.3f}")
