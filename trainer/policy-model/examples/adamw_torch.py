"""Times `torch.optim.AdamW` after `clip_grad_norm_` on the shapes of `adamw.rs`, on one thread.

Requires `pip install torch`.
"""

import time

import torch

torch.set_num_threads(1)


def shapes(width, layers):
    square, up, down = (width, width), (3 * width, width), (width, 3 * width)
    layer = [(width,)] * 2 + [square] * 4 + [up] * 2 + [down]
    return [(1280, width), (width,)] + layer * layers


for width, layers in ((128, 4), (320, 7)):
    for kind in ({}, {"foreach": True}, {"fused": True}):
        parameters = [
            torch.nn.Parameter(torch.randn(shape) * 0.02) for shape in shapes(width, layers)
        ]
        gradients = [torch.randn_like(parameter) * 0.02 for parameter in parameters]
        optimiser = torch.optim.AdamW(parameters, lr=1e-4, **kind)
        times = []
        for _ in range(41):
            for parameter, gradient in zip(parameters, gradients):
                parameter.grad = gradient.clone()
            start = time.perf_counter()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            times.append(time.perf_counter() - start)
        times.sort()
        count = sum(parameter.numel() for parameter in parameters)
        median, best = times[20] * 1e3, times[0] * 1e3
        print(f"{count} parameters {kind}: median {median:.2f} ms, best {best:.2f} ms")
