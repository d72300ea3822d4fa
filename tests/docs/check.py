#!/usr/bin/env python3
"""check.py pages: checks the Markdown pages of the source tree.
check.py site DIR: checks the built site (deploy/docs.sh).

Prints one line for each fault; exit code 1 if there is one.
"""
import collections
import glob
import html.parser
import os
import re
import sys
import urllib.parse

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ["docs/**/*.md", "*.md", "*/*.md", "examples/*/*.md", "tests/*/*.md"]
CODE = (".h", ".cc", ".proto", ".py", ".sh", ".cmake", ".txt", ".in", ".v", ".toml", ".yaml", ".ipynb")  # name pages, too
MOST_WORDS = {"docs/start": 1200, "docs/howto": 600}  # of a page
LISTS = {"docs/start/glossary.md"}  # as long as they are
MOST_WORDS_TOGETHER = 20000
POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
# Texts of the theme's scripts that look like addresses. The policy above also blocks loads from them.
KNOWN_IN_SCRIPTS = {
    "http://www.w3.org/2000/svg", "http://a", "http://a/c%20d", "https://unpkg.com/mermaid@8.13.3/dist/mermaid.min.js",
    "https://api.github.com/repos/", "https://api.github.com/users/", "https://"}

faults = []


def fault(where, what):
    faults.append(f"{where}: {what}")


def report():
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


# ---- pages


def without_code(text):
    """The text with fences and code spans emptied; line breaks stay."""
    text = re.sub(r"^( *)(```+|~~~+).*?^ *\2[^\n]*$", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S | re.M)
    return re.sub(r"(`+)[^`].*?\1", lambda m: "`" + "\n" * m.group(0).count("\n") + "`", text, flags=re.S)


def anchors(text):
    """Anchors of the headings, as both GitHub and mkdocs make them."""
    found, seen = set(), collections.Counter()
    fenced = re.sub(r"^( *)(```+).*?^ *\2$", "", text, flags=re.S | re.M)
    for heading in re.findall(r"^#+ +(.*?)\s*$", fenced, flags=re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(anchor if seen[anchor] == 0 else f"{anchor}-{seen[anchor]}")
        seen[anchor] += 1
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def check_links(page, text):
    """Checks the links of one page; returns the pages that it links to."""
    linked = set()
    code_free = without_code(text)
    for match in re.finditer(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", code_free):
        target = match.group(1)
        line = code_free.count("\n", 0, match.start()) + 1
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(path))) if path else page
        if path.startswith("..") or not os.path.exists(os.path.join(TOP, path)):
            fault(f"{page}:{line}", f"there is no {path}")
        elif anchor and (not path.endswith(".md") or anchor not in anchors(read(path))):
            fault(f"{page}:{line}", f"{path} has no heading #{anchor}")
        linked.add(path)
    return linked


def check_form(page, text):
    """Refuses what GitHub shows and mkdocs does not: lists and tables without an empty line before them, and
    parts of a list item that are indented by less than four blanks or run into the next item."""

    def at(number, what):
        fault(f"{page}:{number}", what)

    for fence in re.finditer(r"^ {1,3}```", text, flags=re.M):
        at(text.count("\n", 0, fence.start()) + 1, "a fence in a list item needs four blanks before it")
    for fence in re.finditer(r"^ +```\n *([-*+]|\d+\.) ", text, flags=re.M):
        at(text.count("\n", 0, fence.end()) + 1, "the item after a fence needs an empty line before it")
    lines = text.split("\n")
    before, in_list, in_part = "", False, False
    for number, line in enumerate(without_code(text).split("\n"), 1):
        item = re.match(r"( *)([-*+]|\d+\.) ", line)
        begins = item and (item.group(2) in "-*+1." or in_list)  # else a number at the start of a line
        indented = line.startswith(" ") and not before.strip() and in_list
        if begins and before.strip() and not in_list and not before.startswith("#"):
            at(number, "a list needs an empty line before it")
        if begins and in_part and not item.group(1):
            at(number, "the item after a paragraph of the item before needs an empty line before it")
        if line.startswith("|") and before.strip() and not before.startswith(("|", "#")):
            at(number, "a table needs an empty line before it")
        if (begins and 0 < len(item.group(1)) < 4) or (indented and not begins and not line.startswith("    ")):
            at(number, "what belongs to a list item needs four blanks before it")
        if any(r"\|" in span for span in re.findall(r"`([^`]+)`", lines[number - 1])):
            at(number, "mkdocs shows the backslash before a bar in a code span")
        in_part = bool(line.strip()) and (in_part or bool(indented and not begins))
        in_list = bool(begins) or (in_list and (line.startswith(" ") or not line.strip() or bool(before.strip())))
        before = line


def words(text):
    return len(text.split())


def check_names_in_code():
    """Checks that each page that a source file names is there."""
    for folder, folders, files in os.walk(TOP):
        folders[:] = [one for one in folders if not one.startswith((".", "build"))]
        for file in files:
            path = os.path.join(folder, file)
            if not file.endswith(CODE) and not (file == "run" and folder.endswith(".ci")):
                continue
            with open(path, encoding="utf-8", errors="replace") as source:
                for number, line in enumerate(source, 1):
                    for name in re.findall(r"(?<![\w./-])docs/[\w/.-]*\.md\b", line):
                        if not os.path.exists(os.path.join(TOP, name)):
                            fault(f"{os.path.relpath(path, TOP)}:{number}", f"there is no {name}")


def check_pages():
    pages = sorted(
        page for pattern in PAGES for page in glob.glob(pattern, root_dir=TOP, recursive=True)
        if not page.startswith("build"))
    linked = {}
    for page in pages:
        text = read(page)
        linked[page] = check_links(page, text)
        if page.startswith("docs/"):
            check_form(page, text)
    for page in pages:
        if page.startswith("docs/") and page != "docs/index.md" and page not in linked.get("docs/index.md", ()):
            fault("docs/index.md", f"there is no link to {page}")
    check_names_in_code()
    together = 0
    for shelf, most in MOST_WORDS.items():
        for page in pages:
            if os.path.dirname(page) == shelf:
                count = words(read(page))
                together += count
                if count > most and page not in LISTS:
                    fault(page, f"{count} words; at most {most} on this shelf")
    if together > MOST_WORDS_TOGETHER:
        fault(" and ".join(MOST_WORDS), f"{together} words; at most {MOST_WORDS_TOGETHER}")


# ---- the site


class Page(html.parser.HTMLParser):
    """Collects what a page loads, what it links to and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.ids, self.policy = [], [], set(), None
        self.style = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        for name, value in values.items():
            if name in ("src", "data", "poster", "action", "background", "srcset", "xlink:href", "formaction", "manifest") or (
                    name == "href" and tag != "a"):
                self.loads += [one.split()[0] for one in value.split(",") if one.split()] if name == "srcset" else [value]
            if name == "style":
                self.loads += css_loads(value)
        if tag == "meta" and values.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = values["content"]
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.loads.append(values["content"].partition("url=")[2])
        self.style = tag == "style"

    def handle_data(self, data):
        if self.style:
            self.loads += css_loads(data)

    def handle_endtag(self, tag):
        self.style = False


def css_loads(text):
    return [one for pair in re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text) for one in pair if one]


def is_elsewhere(address):
    return bool(re.match(r"\s*(?:(?!data:)[a-z][a-z0-9+.-]*:|//)", address, flags=re.I))


def check_loads(site, name, text):
    if name.endswith(".css"):
        loads = css_loads(text)
    else:
        loads = [one for one in re.findall(r"[\"'`](https?://[^\"'`\s$)]*)", text) if one not in KNOWN_IN_SCRIPTS]
    for load in loads:
        if is_elsewhere(load):
            fault(name, f"loads {load}")


def check_site(site):
    pages = {}
    for folder, _, files in os.walk(site):
        for file in files:
            path = os.path.join(folder, file)
            name = os.path.relpath(path, site)
            if not name.endswith((".html", ".css", ".js", ".svg")):
                continue
            with open(path, encoding="utf-8") as opened:
                text = opened.read()
            if name.endswith((".html", ".svg")):
                pages[name] = Page(text)
            else:
                check_loads(site, name, text)
    for name, page in pages.items():
        for load in page.loads:
            if is_elsewhere(load):
                fault(name, f"loads {load}")
        if name.endswith(".svg"):
            continue
        if page.policy != POLICY:
            fault(name, "lacks the policy that keeps scripts from loading (deploy/docs_hooks.py)")
        for link in page.links:
            if is_elsewhere(link) or name == "404.html":
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(os.path.join(site, target)):
                fault(name, f"links to {link}, which is not there")
            elif anchor and target in pages and anchor not in pages[target].ids:
                fault(name, f"links to {link}, but {target} has no such anchor")
    if "index.html" not in pages:
        fault(site, "has no index.html")


if __name__ == "__main__":
    if sys.argv[1:] == ["pages"]:
        check_pages()
    elif len(sys.argv) == 3 and sys.argv[1] == "site":
        check_site(sys.argv[2])
    else:
        sys.exit(__doc__)
    sys.exit(report())
