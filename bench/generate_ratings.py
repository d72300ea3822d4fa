#!/usr/bin/python3
"""generate_ratings.py DIRECTORY [PEOPLE [ITEMS [RATINGS]]]: ratings of people who
do not exist, in the shape of public sets of films.

Writes ratings.csv (user,item,rating), items.txt and item_features.csv
(item,name,genre,decade) into DIRECTORY. PEOPLE: [6040]; ITEMS: [3706]; RATINGS:
mean number of draws a person, [215]; of two draws of one item by one person one
is kept. People are made in blocks: the memory does not grow with them. The same
files at every run with the same numpy.

Popularity has a long tail, people prefer some genres and like what they prefer,
and six hidden factors are in both.
"""
import math
import os
import sys

import numpy

GENRES, HIDDEN, BLOCK = 18, 6, 20000


class Items:
    def __init__(self, random, size):
        self.genres = [numpy.sort(random.choice(GENRES, n, replace=False))
                       for n in random.choice([1, 1, 2, 2, 3], size)]
        self.decade = 10 * ((2009 - numpy.abs(
            random.normal(0, 15, size))).astype(int) // 10)
        # Rows of length about 1: what is multiplied by a person's tastes.
        self.mixture = numpy.zeros((size, GENRES))
        for i, genres in enumerate(self.genres):
            self.mixture[i, genres] = 1 / math.sqrt(len(genres))
        self.hidden = random.normal(size=(size, HIDDEN))
        popularity = numpy.exp(random.normal(0, 1.6, size))
        self.effect = (.25 * numpy.log(popularity) / 1.6
                       + random.normal(0, .4, size)
                       + self.mixture @ random.normal(0, .2, GENRES))
        # Draws: of a genre first, then of an item of that genre; or of a side
        # of a hidden factor, then of an item on that side.
        sides = numpy.exp(1.2 * numpy.hstack([self.hidden, -self.hidden]))
        weights = popularity[:, None] * numpy.hstack(
            [(self.mixture > 0).astype(float), sides])
        self.total = weights.sum(axis=0)
        self.cumulative = numpy.cumsum(weights / self.total, axis=0)

    def write(self, directory):
        with open(os.path.join(directory, "items.txt"), "w") as out:
            out.writelines(f"m{i}\n" for i in range(len(self.genres)))
        with open(os.path.join(directory, "item_features.csv"), "w") as out:
            out.write("item,name,genre,decade\n")
            for i, genres in enumerate(self.genres):
                names = "|".join(f"g{genre}" for genre in genres)
                out.write(f"m{i},Item {i},{names},{self.decade[i]}s\n")


def block_of(random, items, people, mean):
    """Person (0 to people - 1), item and rating of each rating of a block."""
    size = len(items.genres)
    draws = numpy.exp(random.normal(math.log(mean) - .5, 1, people))
    draws = numpy.clip(draws, min(20, mean), size // 2).astype(int)
    bias = random.normal(0, .4, people)
    tastes = random.normal(0, .45, (people, GENRES))
    hidden = random.normal(0, .28, (people, HIDDEN))
    shares = items.total * numpy.exp(1.5 * numpy.hstack(
        [tastes, 1.2 * hidden, -1.2 * hidden]))
    shares = numpy.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    person = numpy.repeat(numpy.arange(people), draws)
    # A person's cumulative shares lie in (person, person + 1].
    ladder = (shares + numpy.arange(people)[:, None]).ravel()
    source = numpy.searchsorted(ladder, person + random.random(person.size))
    source = numpy.minimum(source - person * shares.shape[1], shares.shape[1] - 1)
    item = numpy.empty(person.size, dtype=numpy.int64)
    for one in range(shares.shape[1]):
        where = numpy.flatnonzero(source == one)
        item[where] = numpy.searchsorted(items.cumulative[:, one],
                                         random.random(where.size))
    keys = numpy.unique(person * size + numpy.minimum(item, size - 1))
    person, item = keys // size, keys % size
    rating = 3.45 + bias[person] + items.effect[item]
    rating += random.normal(0, .8, person.size)
    for k in range(GENRES):
        rating += tastes[person, k] * items.mixture[item, k]
    for k in range(HIDDEN):
        rating += hidden[person, k] * items.hidden[item, k]
    return person, item, numpy.clip(numpy.rint(rating), 1, 5).astype(int)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    directory = sys.argv[1]
    people, size, mean = (int(value) for value in
                          (sys.argv[2:5] + ["6040", "3706", "215"][len(sys.argv) - 2:]))
    os.makedirs(directory, exist_ok=True)
    random = numpy.random.default_rng(7)
    items = Items(random, size)
    items.write(directory)
    ratings = 0
    with open(os.path.join(directory, "ratings.csv"), "w") as out:
        out.write("user,item,rating\n")
        for begin in range(0, people, BLOCK):
            columns = block_of(random, items, min(BLOCK, people - begin), mean)
            columns[0][:] += begin
            lines = numpy.column_stack(columns).ravel().tolist()
            out.write("%d,m%d,%d\n" * columns[0].size % tuple(lines))
            ratings += columns[0].size
    print(f"{ratings} ratings of {size} items by {people} people in {directory}")


if __name__ == "__main__":
    main()
