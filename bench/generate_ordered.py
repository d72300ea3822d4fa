"""Generates public pictures, a series and a circle with smooth parts.

    python3 bench/generate_ordered.py DIRECTORY

Writes pictures.csv (1,024 pixels of 32 x 32, 400 people), series.csv (200
points, 600 people) and circle.csv (144 points, 600 people): a row for each
feature, a column for each person, 5 % noise in each entry. The data of
docs/research/feature_order_measured.md; seeds are fixed.
"""

import csv
import math
import pathlib
import random
import sys

WIDTH = 32


def bump(distance, width):
    return math.exp(-((distance / width) ** 2) / 2)


def noised(draws, values):
    return [value * math.exp(0.05 * draws.gauss(0, 1)) for value in values]


def picture_part(draws):
    """Returns a Gaussian bump with two widths, turned."""
    x0, y0 = draws.uniform(3, 29), draws.uniform(3, 29)
    a, b = draws.uniform(2, 5), draws.uniform(2, 5)
    turn = draws.uniform(0, math.pi)
    part = []
    for pixel in range(WIDTH * WIDTH):
        y, x = divmod(pixel, WIDTH)
        u = (x - x0) * math.cos(turn) + (y - y0) * math.sin(turn)
        v = -(x - x0) * math.sin(turn) + (y - y0) * math.cos(turn)
        part.append(bump(u, a) * bump(v, b))
    return part


def pictures(draws):
    parts = [picture_part(draws) for _ in range(24)]
    base = [bump(i % WIDTH - 16, 12) * bump(i // WIDTH - 16, 14)
            for i in range(WIDTH * WIDTH)]
    people = []
    for _ in range(400):
        light = 0.6 * draws.gammavariate(20, 1 / 20)
        usage = [draws.gammavariate(0.7, 1) if draws.random() < 0.5 else 0
                 for _ in parts]
        used = [(h, part) for h, part in zip(usage, parts) if h]
        people.append(noised(draws, [
            light * base[i] + sum(h * part[i] for h, part in used)
            for i in range(len(base))]))
    return zip(*people)


def line(draws, features, circular):
    parts = []
    for _ in range(12):
        centre, width = draws.uniform(0, features), draws.uniform(4, 14)
        apart = [abs(i - centre) for i in range(features)]
        if circular:
            apart = [min(x, features - x) for x in apart]
        parts.append([bump(x, width) for x in apart])
    people = []
    for _ in range(600):
        usage = [draws.gammavariate(0.7, 1) if draws.random() < 0.6 else 0
                 for _ in parts]
        people.append(noised(draws, [
            0.05 + sum(h * part[i] for h, part in zip(usage, parts))
            for i in range(features)]))
    return zip(*people)


def main():
    directory = pathlib.Path(sys.argv[1])
    for name, rows in (
        ("pictures", pictures(random.Random(20))),
        ("series", line(random.Random(21), 200, False)),
        ("circle", line(random.Random(22), 144, True)),
    ):
        with open(directory / f"{name}.csv", "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [f"{value:.5g}" for value in row] for row in rows)


if __name__ == "__main__":
    main()
