#!/usr/bin/env python3
"""commands.py BIN_DIR: prints docs/reference/commands.md, made of what the programs in BIN_DIR print with --manual.
commands.py --check BIN_DIR: fails if that page is another.
"""
import difflib
import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/reference/commands.md")
PROGRAMS = ["dpnmf", "dpnmf-analyst", "dpnmf-curator", "dpnmf-curator-web", "dpnmf-sums", "dpnmf-lab"]
HEAD = """# Commands

All commands and flags of all programs. `deploy/docs.sh --commands` writes this page from the programs' own help, and a
test compares the two. `PROGRAM COMMAND --help` prints the same, and so do the manual pages of the Debian packages
(`man dpnmf`). Values in brackets are what holds without the flag. [configuration.md](configuration.md) says how flags,
environment and files go together; [errors.md](errors.md) lists exit codes and reason codes. `dpnmf-ranks` is started
by `dpnmf-curator serve --ranks` ([ranks.md](ranks.md)) and has no flags.
"""


def plain(text):
    return re.sub(r"\\f[BIR]", "", text).replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")


def prose(text):
    """Text in which Markdown reads nothing but code spans."""
    spans = plain(text).split("`")
    spans[::2] = [re.sub(r"([\\*<])", r"\\\1", span) for span in spans[::2]]
    return "`".join(spans)


def markdown(manual):
    """A page in the few macros of common/cli/manual.cc, as sections of a page in Markdown."""
    lines = iter(manual.splitlines())
    program, page, section = "", [], ""
    for line in lines:
        macro, _, rest = line.partition(" ")
        if macro == ".SH":
            section = rest
            if section == "NAME":
                program = plain(next(lines)).split(" - ")[0]
                page += [f"## {program}", ""]
        elif macro == ".SS":
            page += ["", f"### {program} {plain(rest).strip(chr(34))}", ""]
        elif macro == ".TP":
            page.append(f"- `{plain(next(lines))}`: {prose(next(lines))}")
        elif macro == ".EX":
            page += ["", "```"]
            page += [plain(one) for one in iter(lambda: next(lines), ".EE")]
            page += ["```", ""]
        elif macro == ".PP":
            page.append("")
        elif macro in (".TH", ".nh", ".ad"):
            pass
        elif section == "SYNOPSIS":
            page += [f"`{plain(line)}`", ""]
        else:
            page += [prose(line), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(page)).strip() + "\n"


def main(directory):
    manuals = [
        subprocess.run([os.path.join(directory, program), "--manual"], check=True, capture_output=True, text=True).stdout
        for program in PROGRAMS]
    return HEAD + "\n" + "\n".join(markdown(manual) for manual in manuals)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        sys.exit(__doc__)
    made = main(arguments[-1])
    if not check:
        sys.stdout.write(made)
    else:
        with open(PAGE, encoding="utf-8") as page:
            lines = list(difflib.unified_diff(page.read().splitlines(), made.splitlines(), "page", "programs", n=0, lineterm=""))
        if lines:
            print(*lines[:20], sep="\n")
            sys.exit("docs/reference/commands.md is not what the programs print: run deploy/docs.sh --commands")
