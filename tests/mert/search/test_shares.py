from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mert.search.shares import ShareFolder


def test_threads_open_arrays_one_after_the_other(tmp_path, monkeypatch):
    """Python 3.11 now and then fails where two threads parse the heads of files: "recursion depth mismatch"."""
    folder = ShareFolder(tmp_path)
    folder.keep("values", lambda: np.arange(4.0))
    load, inside, most = np.load, [], []

    def watched(*arguments, **options):
        inside.append(True)
        loaded = [load(*arguments, **options) for _ in range(20)]
        most.append(len(inside))
        inside.pop()
        return loaded[-1]

    monkeypatch.setattr(np, "load", watched)
    with ThreadPoolExecutor(4) as pool:
        sums = set(pool.map(lambda _: float(folder.keep("values", lambda: np.zeros(1)).sum()), range(40)))
    assert sums == {6.0}
    assert set(most) == {1}
