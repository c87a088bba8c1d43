"""Prints Inputs/schedules.expected: the factors of the learning rate that PyTorch's
schedulers have in the first steps, one schedule of Inputs/schedules.mesh per line. Not
part of the tests: they have its output."""

import torch
from torch.optim import lr_scheduler as lr

STEPS = 12
schedulers = {
    "warmup": lambda o: lr.LinearLR(o, start_factor=1 / 4, total_iters=3),
    "linear": lambda o: lr.LinearLR(o, start_factor=1, end_factor=0.25, total_iters=8),
    "late": lambda o: lr.SequentialLR(
        o, [lr.ConstantLR(o, 1), lr.LinearLR(o, start_factor=1, end_factor=0, total_iters=4)], [5]
    ),
    "cosine": lambda o: lr.LambdaLR(o, lambda t: cosine(min(t, 10))),
    "polynomial": lambda o: lr.PolynomialLR(o, total_iters=8, power=2),
    "inverse_sqrt": lambda o: lr.LambdaLR(o, lambda t: min((t + 1) / 3, ((t + 1) / 3) ** -0.5)),
    "exponential": lambda o: lr.ExponentialLR(o, 0.9),
    "staircase": lambda o: lr.StepLR(o, 3, 0.5),
    "one_cycle": lambda o: lr.OneCycleLR(o, 1.0, total_steps=12, cycle_momentum=False),
    "cycle_falls": lambda o: lr.OneCycleLR(o, 1.0, total_steps=12, pct_start=0.0, cycle_momentum=False),
    "cycle_begins_below": lambda o: lr.OneCycleLR(o, 1.0, total_steps=12, pct_start=0.05, cycle_momentum=False),
    # With 1 / 12, OneCycleLR divides by zero.
    "cycle_begins_at_top": lambda o: lr.OneCycleLR(o, 1.0, total_steps=12, pct_start=1 / 12 - 1e-12, cycle_momentum=False),
    "cycle_rises": lambda o: lr.OneCycleLR(o, 1.0, total_steps=12, pct_start=1.0, cycle_momentum=False),
    # PyTorch ends after the last step, and has no schedule of no steps.
    "cycle_of_one": lambda o: lr.LambdaLR(o, lambda t: 4e-6),
    "cycle_of_none": lambda o: lr.LambdaLR(o, lambda t: 4e-6),
    "warmup_of_none": lambda o: lr.LambdaLR(o, lambda t: 1),
    "linear_of_none": lambda o: lr.LambdaLR(o, lambda t: 1 if t <= 2 else 0.25),
    "cosine_of_none": lambda o: lr.LambdaLR(o, lambda t: 1 if t <= 2 else 0),
    "cosine_of_less": lambda o: lr.LambdaLR(o, lambda t: 1 if t <= 2 else 0),
    "polynomial_of_none": lambda o: lr.LambdaLR(o, lambda t: 1 if t == 0 else 0),
}


def rates(make, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    list = []
    for step in range(steps):
        list.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    return list


# CosineAnnealingLR rises again after its end, where nn.cosine stays.
annealed = rates(lambda o: lr.CosineAnnealingLR(o, 10, 0.1), 11)
cosine = lambda t: annealed[t]
for name, make in schedulers.items():
    print(name, *(f"{rate:.9g}" for rate in rates(make, STEPS)))
