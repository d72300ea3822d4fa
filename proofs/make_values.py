#!/usr/bin/env python3
"""Coq lemmas from what the program computes.

usage: make_values.py GOLDEN FOLDER MOST
Reads GOLDEN/privacy_lines.csv and GOLDEN/gaussian_accounting.json, and writes to
FOLDER: ProgramValues.v (the lines, and that they are right) and EpsilonValues.v
(at most MOST epsilons of each file are upper bounds, spread evenly; 0: all).
"""
import csv
import json
import math
import pathlib
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60
RELATIONS = {"replace_one": "ReplaceOne", "add_remove_one": "AddRemoveOne", "one_rating": "OneRating"}
DIGITS = 12  # a golden epsilon plus 10^-DIGITS max(epsilon, mu) is an upper bound


def dyadic(x):
    """A double, exactly."""
    f = Fraction(x)
    e = f.denominator.bit_length() - 1
    return str(f.numerator) if e == 0 else f"({f.numerator} * powerRZ 2 (-{e}))"


def boolean(text):
    return {"0": "false", "1": "true"}[text]


def line(row):
    release, name, rounds, symmetric, left, right, whole, stddev, diagonal, units, *bounds = row
    return (f'    {{| release := "{release}"; name := "{name}"; rounds := {rounds};\n'
            f"       shape := {{| symmetric := {boolean(symmetric)}; left_norm := {left}; right_norm := {right};\n"
            f"                   whole_sensitivity := {boolean(whole)} |}};\n"
            f"       stddev := {stddev}; diagonal := {diagonal}; units := {units}; bounds := [{'; '.join(bounds)}] |}}")


def runs_of(rows):
    runs = []
    for kind, *row in rows:
        if kind == "run":
            runs.append((row, []))
        elif kind == "part":
            runs[-1][1].append(line(row))
        elif kind not in ("cap", "epsilon"):
            sys.exit(f"make_values.py: a line of privacy_lines.csv begins with {kind}")
    texts = [f"  (* {mechanism} *) {{| relation := {RELATIONS[relation]}; all_units := {units}; lines := [\n"
             + ";\n".join(parts) + "] |}" for (mechanism, relation, units), parts in runs]
    return ("From dpnmf Require Import ProgramCheck.\n\nDefinition runs : list run := [\n" + ";\n".join(texts)
            + "].\nLemma runs_are_right : forallb right_run runs = true.\nProof. vm_compute; reflexivity. Qed.\n")


def end_of_integral(mu, eps):
    """Beyond it lies e^-38 of the whole."""
    x, end = eps / mu - mu / 2, 1
    while x * end + end * end / 2 < 38 or x + end < 0.5:
        end += 1
    return end


def upper_bound(name, mu, mu_text, eps, eps_text, delta):
    return (f"Lemma {name} : delta (sqrt {mu_text}) {eps_text} <= {dyadic(delta)}.\n"
            f"Proof. Timeout 60 above {end_of_integral(mu, eps)}. Qed.\n")


def printed(row):
    """Name, and arguments of upper_bound, of what the program printed."""
    word, units, delta, eps = row
    mu, eps = math.sqrt(int(units) / 2**60), float.fromhex(eps)
    return word, mu, f"({units} * powerRZ 2 (-60))", eps, dyadic(eps), float.fromhex(delta)


def golden(case):
    count, noise = case["compositions"], Fraction(case["noise_multiplier"])
    mu, truth = math.sqrt(count / noise**2), Decimal(case["eps_gdp_exact"])
    eps = truth + max(truth, Decimal(mu)).scaleb(-DIGITS)
    return "golden", mu, f"({count} / ({dyadic(noise)} * {dyadic(noise)}))", float(eps), f"{eps:.30f}", case["delta"]


def spread(values, most):
    values = list(dict.fromkeys(values))
    if most == 0 or len(values) <= most:
        return values
    return [values[i * len(values) // most] for i in range(most)]


def main(source, folder, most):
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    with open(source / "privacy_lines.csv", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("#")]
    (folder / "ProgramValues.v").write_text(runs_of(rows))
    program = [printed(row) for row in rows if row[0] in ("cap", "epsilon")]
    cases = [golden(case) for case in json.loads((source / "gaussian_accounting.json").read_text())["cases"]]
    lemmas = [(f"{word}_{n}", *rest) for n, (word, *rest) in enumerate(spread(program, most) + spread(cases, most))]
    names = ", ".join(name for name, *_ in lemmas)
    (folder / "EpsilonValues.v").write_text(
        "From dpnmf Require Import Bound.\nOpen Scope R_scope.\n\n" + "".join(upper_bound(*lemma) for lemma in lemmas)
        + f"Definition epsilons := ({names}).\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
