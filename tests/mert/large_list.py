"""A list of several hundred megabytes, made in a second: few distinct beginnings of long texts, each with many ends."""

import numpy as np

NAMES = ("LM0", "TM0_0", "TM0_1", "WordPenalty0")
VARIANTS, LENGTH = 25, 240


def write_large_list(folder, megabytes, candidates=1000):
    """Write ``nbest`` of so many megabytes at least, ``ref`` and ``weights``; the path of the list."""
    rng = np.random.default_rng(1)
    words = np.array([f"word{i}" for i in range(500)])
    folder.mkdir(exist_ok=True)
    path = folder / "nbest"
    references, size = [], 0
    with path.open("w") as stream:
        while size < megabytes << 20:
            segment = len(references)
            reference = rng.choice(words, LENGTH)
            references.append(" ".join(reference))
            kept = rng.random((VARIANTS, LENGTH)) < rng.uniform(0.4, 0.9, (VARIANTS, 1))
            texts = [" ".join(np.where(row, reference, rng.choice(words, LENGTH))) for row in kept]
            quality = kept.mean(axis=1)[np.arange(candidates) % VARIANTS]
            values = np.outer(quality, [8, 5, -2, 0]) + rng.normal(size=(candidates, 4))
            lines = [
                f"{segment} ||| {texts[i % VARIANTS]} {i} ||| LM0= {a:.4f} TM0= {b:.4f} {c:.4f} WordPenalty0= {d:.4f}"
                for i, (a, b, c, d) in enumerate(values.tolist())
            ]
            size += stream.write("\n".join(lines) + "\n")
    (folder / "ref").write_text("\n".join(references) + "\n")
    (folder / "weights").write_text("LM0= 0.1\nTM0= 0.1 0.1\nWordPenalty0= 0.1\n")
    return path
