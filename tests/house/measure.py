#!/usr/bin/env python3
"""measure.py [--lint]: prints figures of the structure and the comments of the source tree.

--lint prints each comment that begins with one of FIRST_WORDS, and fails if there are more of them
than MOST_FIRST_WORDS (that number may only shrink), if a folder holds more than MOST_FILES files, or if
folders include each other.
"""
import collections
import re
import subprocess
import sys

MOST_LINES = 80  # of a function
MOST_FILES = 24  # of a folder
MOST_FIRST_WORDS = 0
KNOBS = ["inner_iterations", "profile_directions", "share_of_a"]
FACTS = ["weighted_features"]
FIRST_WORDS = {"Of", "What", "That", "Whether", "Nothing", "Null", "As", "Where", "Likewise"}


def files():
    listed = subprocess.run(["git", "ls-files", "*.h", "*.cc"], check=True, capture_output=True, text=True)
    return listed.stdout.split()


def is_product(path):
    return not path.startswith(("tests/", "bench/", "examples/"))


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def folder_of(path):
    return path.rpartition("/")[0]


def comments(text):
    """Pairs of a line number and the first word, of each comment that stands alone on its lines."""
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r"\s*// ?(?:-+ )?(\S*)", line)
        if found and not re.match(r"\s*//", before):
            yield number, re.sub(r"\W+$", "", found.group(1))
        before = line


def functions(text):
    """Pairs of the first line and the count of lines, of each block at the left margin."""
    lines = text.split("\n")
    start = None
    for at, line in enumerate(lines):
        if line.startswith("}"):
            if start is not None and not re.match(r"\}\s*(//|;)", line):
                yield start + 1, at - start + 1
            start = None
        elif re.match(r"[A-Za-z].*\{$", line) and not line.startswith(("namespace", "extern", "union")):
            start = at if not re.match(r"(struct|class|enum)\b", line) else None
        elif re.match(r"[A-Za-z]", line) and line.endswith(("(", ",")):
            start = at


def loops(edges):
    """Groups of nodes that reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(100_000)
    for node in list(edges):
        if node not in index:
            visit(node)
    return found


def include_edges(paths, node_of):
    edges = collections.defaultdict(set)
    known = set(paths)
    for path in paths:
        for other in re.findall(r'#include "([^"]+)"', text_of(path)):
            if other in known and node_of(path) != node_of(other):
                edges[node_of(path)].add(node_of(other))
    return edges


def bad_comments(paths):
    return [
        f"{path}:{number}: a comment begins with `{word}`"
        for path in paths
        for number, word in comments(text_of(path))
        if word in FIRST_WORDS
    ]


def structure(paths):
    """Sentences on folders that hold too much, and on folders in a circle."""
    return [
        f"files in {folder}: {count}, of at most {MOST_FILES}"
        for folder, count in collections.Counter(map(folder_of, paths)).most_common()
        if count > MOST_FILES
    ] + ["folders that include each other: " + " ".join(group) for group in loops(include_edges(paths, folder_of))]


def lint():
    bad = bad_comments(files())
    print("\n".join(bad))
    print(f"{len(bad)} comments, of at most {MOST_FIRST_WORDS}: name the thing, or say what it does")
    folders = structure([path for path in files() if is_product(path)])
    print("\n".join(folders))
    return len(bad) <= MOST_FIRST_WORDS and not folders


def print_figures():
    paths = [path for path in files() if is_product(path)]
    texts = {path: text_of(path) for path in paths}
    print(f"product code: {sum(text.count(chr(10)) for text in texts.values())} lines in {len(paths)} files")
    for sentence in structure(paths):
        print(sentence)
    for group in loops(include_edges(paths, lambda path: re.sub(r"[.](h|cc)$", "", path))):
        print("files that include each other:", *group)
    for name in KNOBS + FACTS:
        print(f"files that name {name}: {sum(name in text for text in texts.values())}")
    count = sum(1 for text in texts.values() for _ in comments(text))
    print(f"comments that begin badly: {len(bad_comments(paths))} of {count}")
    for path, text in texts.items():
        for line, length in functions(text):
            if path.endswith(".cc") and length > MOST_LINES:
                print(f"function of {length} lines: {path}:{line}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--lint"]:
        sys.exit(0 if lint() else 1)
    if sys.argv[1:]:
        sys.exit(__doc__)
    print_figures()
