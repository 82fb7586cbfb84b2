"""PRO and MIRA under the constraints of a problem: weights that are held, tied or bounded."""

import numpy as np

from mert.learners.mira import mira
from mert.learners.pro import pro
from mert.optimize import TuningProblem
from rypt.arrays import Floats


def learned(
    problem: TuningProblem, start: Floats, algorithm: str, rng: np.random.Generator, samples: int = 5000
) -> Floats:
    """The weights of PRO or MIRA, which see one feature for each axis, tied weights being one, and what is held.

    ``samples`` is the number of pairs of a segment that PRO looks at.
    """
    free = problem.free
    held = problem.values(np.where(free, 0.0, start))
    places = [int(np.flatnonzero(axis)[0]) for axis in problem.axes]
    lengths = np.array([start[i] / axis[i] for i, axis in zip(places, problem.axes, strict=True)])
    features = np.column_stack([problem.features @ problem.axes.T, held])
    beginning, moving = np.append(lengths, 1.0), np.append(np.ones(len(places), np.bool_), False)
    scale = problem.metric.scale
    if algorithm == "pro":
        reached = pro(
            problem.offsets, features, problem.stats, problem.rate, beginning, moving, rng, scale=scale,
            samples=samples,
        )  # fmt: skip
    else:
        reached = mira(problem.offsets, features, problem.stats, problem.rate, beginning, moving, rng, scale=scale)
    return problem.moved(np.where(free, 0.0, start), reached[:-1])
