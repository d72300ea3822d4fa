"""Options of a run that its mechanism reads, from the tables in common/privacy/mechanism.

Written by tests/common/privacy/knob_test.cc, which says how to write it anew.
"""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Knobs:
    moment_rows: int | None = None
    share_of_moments: float | None = None
    shares: Sequence[float] | None = None
    profile_directions: int | None = None
    inner_iterations: int | None = None
    share_of_a: float | None = None


# How a value is checked, and the code of a refusal.
KNOBS = {
    "moment_rows": ("whole", "moment-rows-out-of-range"),
    "share_of_moments": ("real", "share-out-of-range"),
    "shares": ("reals", "share-out-of-range"),
    "profile_directions": ("whole", "profile-directions-out-of-range"),
    "inner_iterations": ("whole", "inner-iterations-out-of-range"),
    "share_of_a": ("real", "share-out-of-range"),
}
