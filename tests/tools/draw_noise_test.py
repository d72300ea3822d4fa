"""Runs draw_noise: sizes, scales, exact parsing and refusals.

False-alarm rate: the mean square of 200,000 values is within 8 standard errors but
for 2e-15; six cases.
"""

import array
import subprocess
import sys

DRAW_NOISE = sys.argv[1]


def run(stddev, step_exponent, count):
    return subprocess.run(
        [DRAW_NOISE, "--stddev", stddev, f"--step-exponent={step_exponent}", "--count", str(count)],
        capture_output=True, check=False)


def check_scale(stddev, step_exponent, sigma_in_steps):
    count = 200000
    done = run(stddev, step_exponent, count)
    assert done.returncode == 0 and len(done.stdout) == 8 * count, done.stderr
    values = array.array("q", done.stdout)
    expected = sigma_in_steps**2 + (1 / 12 if sigma_in_steps > 0.9 else 0)
    mean_square = sum(v * v for v in values) / count
    assert abs(mean_square / expected - 1) < 8 * (2 / count) ** 0.5, (stddev, mean_square)


check_scale("1", 0, 1)
check_scale("1.5", -30, 1.5 * 2**30)
check_scale("2.5e3", -10, 2.5e3 * 2**10)
check_scale("1e-3", -40, 1e-3 * 2**40)
check_scale("0.1", -45, 0.1 * 2**45)
check_scale("1048576", 10, 1024)
assert run("1", 0, 0).stdout == b""
assert run("1.5", -30, 5).stdout != run("1.5", -30, 5).stdout
for stddev, step_exponent in [("0", 0), ("-1", 0), ("nan", 0), ("inf", 0), ("", 0), (".", 0),
                              ("1e", 0), ("1.2.3", 0), ("1x", 0), ("1", -51), ("1", 21),
                              ("1e400", 0), ("1e-400", 0), ("123456789012345678901.5", 20)]:
    done = run(stddev, step_exponent, 1)
    assert done.returncode == 2 and not done.stdout, (stddev, step_exponent, done)
