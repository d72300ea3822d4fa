#!/usr/bin/env python3
"""Writes gaussian_accounting_extremes.json: accounting at the ends of its range.

Needs mpmath (Debian: python3-mpmath). Works straight from the three published
formulas with 120 digits and plain bisection; it shares nothing with the C++
code. mu_squared and delta are taken as the exact values of the doubles shown.
"""

import json

from mpmath import erfc, exp, log, mp, mpf, nstr, sqrt

mp.dps = 120
DIGITS = 30


def bisect(too_low, low, high, steps=400):
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if too_low(middle) else (low, middle)
    return high


def gaussian(mu_squared, delta):
    """Balle and Wang 2018, Theorem 8."""
    mu = sqrt(mu_squared)

    def phi(x):
        return erfc(-x / sqrt(mpf(2))) / 2

    def delta_of(epsilon):
        return phi(-epsilon / mu + mu / 2) - exp(epsilon) * phi(-epsilon / mu - mu / 2)

    if delta_of(mpf(0)) <= delta:
        return mpf(0)
    rho = mu_squared / 2
    high = rho + mu * sqrt(2 * log(1 / delta)) + mu
    return bisect(lambda epsilon: delta_of(epsilon) > delta, mpf(0), high)


def rdp(mu_squared, delta):
    """Bun and Steinke 2016, Proposition 1.3."""
    rho = mu_squared / 2
    return rho + 2 * sqrt(rho * log(1 / delta))


def rdp_optimal(mu_squared, delta):
    """Canonne, Kamath and Steinke 2020, Proposition 12; golden section in log(alpha - 1)."""
    rho = mu_squared / 2

    def value(t):
        a = exp(t)
        alpha = 1 + a
        return rho * alpha + (log(1 / delta) + a * log(a / alpha) - log(alpha)) / a

    ratio = (sqrt(mpf(5)) - 1) / 2
    low, high = mpf(-120), mpf(200)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(320):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = value(right)
    return max(mpf(0), min(at_left, at_right))


def main():
    mu_squareds = [1e-24, 1e-12, 1e-9, 1e-6, 1e-4, 0.01, 0.3, 1.0, 4.0, 30.0, 144.0, 324.0,
                   2500.0, 1e6, 1e10, 1e15]
    deltas = [1e-300, 1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.4, 0.5, 0.7, 0.99, 1 - 1e-9,
              1 - 2**-52]
    cases = []
    for mu_squared in mu_squareds:
        for delta in deltas:
            m, d = mpf(mu_squared), mpf(delta)
            cases.append({
                "mu_squared": mu_squared,
                "delta": delta,
                "rdp": nstr(rdp(m, d), DIGITS),
                "rdp_optimal": nstr(rdp_optimal(m, d), DIGITS),
                "gaussian": nstr(gaussian(m, d), DIGITS),
            })
    with open("gaussian_accounting_extremes.json", "w") as out:
        out.write('{\n "cases": [\n')
        out.write(",\n".join("  " + json.dumps(case) for case in cases))
        out.write("\n ]\n}\n")


if __name__ == "__main__":
    main()
