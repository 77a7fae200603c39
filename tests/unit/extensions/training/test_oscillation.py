"""A weight that goes to and fro is frozen at the code that it held most; others move on."""

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.training.optimizers import THRESHOLD, still


def test_only_what_changes_its_direction_is_frozen() -> None:
    scale, state = np.float32(0.5), dict[str, Array]()
    found: list[Array] = []
    for step in range(40):
        # To and fro, mostly at 1; up all the time; still; across a border once and back.
        to_and_fro = 1.2 if step % 4 else 0.4
        array = np.float32([to_and_fro * 0.5, 0.1 * step, 0.3, 0.5 if step == 7 else 0.2])
        found.append(still("w", array, np.rint(array / scale), scale, state))
    first = next(step for step, each in enumerate(found) if each[0] == scale)
    # Changes at steps 4 and 5 are .0199 together: that at step 8 is above the threshold.
    assert first == 8
    assert all(each[0] == scale * 1 for each in found[first:])
    assert [each[1] for each in found] == [np.float32(0.1 * step) for step in range(40)]
    assert found[-1][2:].tolist() == np.float32([0.3, 0.2]).tolist()
    assert state["frequency w"][0] > THRESHOLD > state["frequency w"][3]
