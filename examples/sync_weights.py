# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Weight synchronisation between a trainer and a process that serves: after each step one message
of what has changed, applied in place. Here both are one program; a message is bytes, which any
channel carries.

    python sync_weights.py
"""

import torch
import wcodec


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Linear(512, 512).to(device, torch.bfloat16)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    serving = {name: tensor.clone() for name, tensor in before.items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=2e-3)
    for step in range(3):
        loss = model(torch.randn(8, 512, device=device, dtype=torch.bfloat16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after = model.state_dict()
        message = wcodec.delta_encode(before, after)
        wcodec.delta_apply(serving, message)
        same = all(torch.equal(serving[name], tensor) for name, tensor in after.items())
        total = sum(tensor.nbytes for tensor in after.values())
        print(f"step {step}: {len(message)} of {total} bytes, {'the same' if same else 'another'}")
        for name, tensor in after.items():
            before[name].copy_(tensor)


if __name__ == "__main__":
    main()
