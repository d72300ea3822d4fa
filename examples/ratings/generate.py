#!/usr/bin/env python3
"""Makes the example of ratings: people and films that do not exist.

usage: python3 generate.py [DIRECTORY]

Writes ratings.csv.gz, items.txt and item_features.csv into DIRECTORY (default:
where this script is). Python's standard library alone; the same files at every
run.
"""
import csv
import gzip
import io
import math
import os
import random
import sys

PEOPLE, ITEMS, SEED = 600, 300, 20260101
GENRES = ["Adventure", "Animation", "Comedy", "Crime", "Documentary", "Drama",
          "Horror", "Musical", "Romance", "Science fiction"]
# Three tastes that genres share: action, family, earnest.
TASTES = {
    "Adventure": (.8, .3, -.2), "Animation": (.1, .9, -.3),
    "Comedy": (.0, .5, -.5), "Crime": (.7, -.4, .3),
    "Documentary": (-.5, .0, .8), "Drama": (-.3, -.1, .8),
    "Horror": (.6, -.8, -.4), "Musical": (-.6, .7, .1),
    "Romance": (-.6, .4, .2), "Science fiction": (.9, .0, .1)}
FIRST = ["Silent", "Golden", "Broken", "Distant", "Crimson", "Hidden", "Last",
         "Paper", "Winter", "Electric", "Midnight", "Wandering", "Glass",
         "Forgotten", "Northern", "Hollow", "Restless", "Burning", "Little",
         "Second"]
SECOND = ["Harbour", "Orchard", "Signal", "Kingdom", "Letter", "Garden",
          "Machine", "River", "Carnival", "Witness", "Island", "Voyage",
          "Mirror", "Summer", "Detective", "Lantern", "Mountain", "Orchestra",
          "Stranger", "Promise"]


def make_items(rng):
    """A film: id, name, year, genres, and what nobody declares about it."""
    names = [f"The {a} {b}" for a in FIRST for b in SECOND]
    rng.shuffle(names)
    items = []
    for i in range(ITEMS):
        year = 2024 - min(int(rng.expovariate(1 / 14)), 74)
        genres = sorted(rng.sample(GENRES, rng.choice([1, 1, 2, 2, 2, 3])))
        items.append({
            "id": f"f{i + 1:03d}", "name": f"{names[i]} ({year})",
            "year": year, "genres": genres,
            "effect": rng.gauss(0, .4),
            # Films of no genre: mainstream or not, light or dark.
            "hidden": (rng.gauss(0, 1), rng.gauss(0, 1)),
            "taste": [sum(TASTES[g][k] for g in genres) / math.sqrt(len(genres))
                      for k in range(3)]})
    # A long tail: the first few films have most of the viewers.
    order = list(range(ITEMS))
    rng.shuffle(order)
    for rank, i in enumerate(order):
        items[i]["popularity"] = ((rank + 8) ** -1.0
                                  * math.exp(.5 * items[i]["effect"]))
    return items


def make_ratings(rng, items):
    """Lines of user, item, rating, time, in the order of time."""
    lines = []
    for u in range(PEOPLE):
        bias = rng.gauss(0, .45)
        likes = [rng.gauss(0, .45) for _ in range(3)]
        hidden = [rng.gauss(0, .3) for _ in range(2)]
        whims = {g: rng.gauss(0, .2) for g in GENRES}

        def taste(item):
            return (sum(a * b for a, b in zip(likes, item["taste"]))
                    + sum(a * b for a, b in zip(hidden, item["hidden"]))
                    + sum(whims[g] for g in item["genres"])
                    / len(item["genres"]))

        count = max(4, min(int(math.exp(rng.gauss(3.4, .8))), 200))
        # People see what is popular and what they expect to like: the largest
        # of weights with exponential noise are a sample without replacement.
        keys = [(rng.expovariate(1) / (item["popularity"]
                                       * math.exp(.9 * taste(item))), i)
                for i, item in enumerate(items)]
        start = rng.randrange(0, 900)
        for _, i in sorted(keys)[:count]:
            item = items[i]
            score = (3.5 + bias + item["effect"] + taste(item)
                     + rng.gauss(0, .75))
            day = start + int(rng.expovariate(1 / 60))
            lines.append((day, f"p{u + 1:03d}", item["id"],
                          max(1, min(5, round(score)))))
    lines.sort(key=lambda line: (line[0], line[1], line[2]))
    return lines


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(
        os.path.abspath(__file__))
    rng = random.Random(SEED)
    items = make_items(rng)
    lines = make_ratings(rng, items)
    with open(os.path.join(folder, "items.txt"), "w", encoding="utf-8") as out:
        out.writelines(item["id"] + "\n" for item in items)
    with open(os.path.join(folder, "item_features.csv"), "w", newline="",
              encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["item", "name", "year", "genres"])
        for item in items:
            writer.writerow([item["id"], item["name"], item["year"],
                             "|".join(item["genres"])])
    text = io.StringIO()
    text.write("user,item,rating,day\n")
    for day, user, item, rating in lines:
        text.write(f"{user},{item},{rating},{day}\n")
    with open(os.path.join(folder, "ratings.csv.gz"), "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, 0) as out:
            out.write(text.getvalue().encode())


if __name__ == "__main__":
    main()
