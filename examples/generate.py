# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Generates text by a model of transformers whose weights stay coded in memory, on a CUDA device if
there is one: prints the text, and what memory the weights take.

    wcodec compress -r my-model
    python generate.py my-model.wcodec "Once upon a time"
"""

import sys

import wcodec
from transformers import AutoModelForCausalLM, AutoTokenizer
from wcodec.engines.transformers import WcodecConfig


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: generate.py FOLDER.wcodec PROMPT")
    folder, prompt = sys.argv[1:]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=WcodecConfig(mode="product"), device_map="auto"
    )
    resident = model.hf_quantizer.resident
    decoded = sum(resident.info(name).nbytes for name in resident)
    print(f"on {resident.device}: {resident.nbytes} of {decoded} bytes resident")
    tokens = tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)
    made = model.generate(tokens, max_new_tokens=40, do_sample=False)
    print(tokenizer.decode(made[0], skip_special_tokens=True))


if __name__ == "__main__":
    try:
        main()
    except (wcodec.WcodecError, MemoryError) as error:
        sys.exit(f"generate.py: {error}")
