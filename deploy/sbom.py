#!/usr/bin/env python3
"""Lists what a package or an image of dpnmf is made of, as SPDX 2.3 in JSON.

    deploy/sbom.py DEB BUILD_DIR
    deploy/sbom.py --image NAME --root DIR --installed LIST BUILD_DIR

BUILD_DIR is where the programs were built. Named are the libraries that the programs link (readelf),
what was compiled into them (the compiler's lists of headers, static libraries, uPlot), and what else
the package needs. An image is given as DIR, with its /usr/bin/dpnmf*, and LIST, what 'dpkg-query -W
-f "${Package} ${Version} ${source:Package} ${Provides}\\n"' prints in it. Fails if a part belongs to
no Debian package or has a licence that does not fit. SOURCE_DATE_EPOCH is the document's date."""

import argparse
import csv
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from urllib.parse import quote

TOP = pathlib.Path(__file__).resolve().parent.parent
QUERY = "${Package} ${Version} ${source:Package} ${Provides}\\n"
# Licences of what a program under Apache-2.0 may contain or link.
FITS = {"Apache-2.0", "BSD-3-Clause", "MIT", "MPL-2.0", "Zlib", "blessing", "libpng-2.0", "LGPL-2.1-or-later",
        "GPL-3.0-or-later WITH GCC-exception-3.1", "GPL-2.0-only WITH Linux-syscall-note"}


def run(*command, check=True):
    return subprocess.run([str(c) for c in command], check=check, stdout=subprocess.PIPE,
                          stderr=None if check else subprocess.DEVNULL, text=True).stdout


def packages_of(listed):
    """Returns name, version and source of packages by their names and the names that they provide."""
    rows = [line.replace(",", "").split() for line in listed.splitlines()]
    provided = {name: tuple(row[:3]) for row in rows for name in row[3:]}
    return provided | {row[0]: tuple(row[:3]) for row in rows}


def owners(files):
    """Returns the names of the packages that hold files of this machine."""
    # dpkg knows some files of /usr by their old names, without it.
    names = {path: (path, path[4:]) for path in map(os.path.realpath, files)}
    asked = run("dpkg", "-S", *(n for pair in names.values() for n in pair), check=False) if names else ""
    found = {path: owner for owner, path in (line.split(": ", 1) for line in asked.splitlines())}
    for path, pair in names.items():
        owner = found.get(pair[0]) or found.get(pair[1])
        if not owner:
            sys.exit(f"deploy/sbom.py: {path}, of which a program is made, belongs to no Debian package")
        yield owner.split(",")[0].split(":")[0]


def headers_of(build):
    """Returns the files that the compiler read, by object."""
    headers, current = {}, set()
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith("    "):
            current.add(line.strip())
        elif ": #deps" in line:
            current = headers.setdefault(line.split(": #deps")[0], set())
    return headers


def read_programs(root, build):
    """Returns the entries of the programs below root, the libraries that they link, the files outside the
    tree that were compiled into them, and whether uPlot was."""
    headers, entries, linked, inside, uplot = headers_of(build), [], set(), set(), False
    for elf in sorted(f for f in root.rglob("*") if f.is_file() and not f.is_symlink()):
        content = elf.read_bytes()
        if content[:4] != b"\x7fELF":
            continue
        built = next(f for f in build.rglob(elf.name) if f.is_file() and f.parent.name not in ("completions", "tests"))
        loaded = dict(re.findall(r"^\s*(\S+)(?: => (\S+))? \(0x", run("ldd", built), re.M))
        for soname in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", elf)):
            linked.add(loaded.get(soname) or f"/lib64/{soname}")  # the loader has no arrow
        inputs = run("ninja", "-C", build, "-t", "inputs", built.relative_to(build)).splitlines()
        inside.update(*(headers.get(line, ()) for line in inputs), (f for f in inputs if f.endswith(".a")))
        uplot |= any("plot/uplot/uPlot" in line for line in inputs)
        entries.append({"SPDXID": f"SPDXRef-File-{elf.name}", "fileName": f"./{elf.relative_to(root)}",
                        "checksums": [{"algorithm": a.upper(), "checksumValue": hashlib.new(a, content).hexdigest()}
                                      for a in ("sha1", "sha256")]})
    return entries, linked, {f for f in inside if f.startswith("/usr/")}, uplot


def part(name, version, licence, purl):
    where = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": f"pkg:{purl}/{quote(name)}@{quote(version)}"}
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "externalRefs": [where]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("deb", nargs="?")
    parser.add_argument("build", type=pathlib.Path)
    [parser.add_argument(flag) for flag in ("--image", "--root", "--installed")]
    options = parser.parse_args()
    here = packages_of(run("dpkg-query", "-W", "-f", QUERY))
    there = packages_of(pathlib.Path(options.installed).read_text()) if options.image else here
    with tempfile.TemporaryDirectory() as scratch:
        root, name, depends = pathlib.Path(options.root or scratch), options.image, ""
        version = re.search(r"project\(dpnmf VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text())[1]
        if options.deb:
            run("dpkg-deb", "-x", options.deb, scratch)
            name, version, depends = (run("dpkg-deb", "-f", options.deb, f).strip()
                                      for f in ("Package", "Version", "Depends"))
        programs, linked, inside, uplot = read_programs(root, options.build)
    if not programs:
        sys.exit(f"deploy/sbom.py: {name} holds no program")
    licences = dict(csv.reader((TOP / "deploy/licences.csv").read_text().splitlines()))
    parts = [("STATIC_LINK", here[p]) for p in sorted(set(owners(inside)))]  # headers are the build's
    for package in sorted(set(owners(linked))):
        if package not in there:
            sys.exit(f"deploy/sbom.py: {name} lacks the package {package}, whose library its programs link")
        parts.append(("DYNAMIC_LINK", there[package]))
    linked = {found[0] for _, found in parts}
    needed = set(there) if options.image else {d.split()[0] for d in re.split("[,|] *", depends) if d}
    needed = {there.get(d, (d, "NOASSERTION", d)) for d in needed if not d.startswith("dpnmf")}
    parts += [("CONTAINS" if options.image else "DEPENDS_ON", d) for d in sorted(needed) if d[0] not in linked]
    packages = [part(name, version, "Apache-2.0", "generic")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", packages[0]["SPDXID"])]
    if uplot:
        script = (TOP / "common/plot/uplot/uPlot.iife.min.js").read_text()
        parts.append(("STATIC_LINK", ("uPlot", re.search(r"\(v([0-9.]+)\)", script)[1], "uPlot")))
    for kind, (package, found, source) in parts:
        licence = licences.get(source, "NOASSERTION")
        if kind.endswith("LINK") and licence not in FITS:
            sys.exit(f"deploy/sbom.py: {source}, a part of {name}, has the licence {licence}, which does not fit or has no line in "
                 "deploy/licences.csv: read it and add the line")
        packages.append(part(package, found, licence, "npm" if package == "uPlot" else "deb/debian"))
        relations.append((packages[0]["SPDXID"], kind, packages[-1]["SPDXID"]))
    relations += [(packages[0]["SPDXID"], "CONTAINS", program["SPDXID"]) for program in programs]
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), datetime.timezone.utc)
    digest = hashlib.sha256(json.dumps([programs, packages]).encode()).hexdigest()
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{version}-{digest}",
        "creationInfo": {"created": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: deploy/sbom.py"]},
        "packages": packages, "files": programs,
        "relationships": [dict(zip(("spdxElementId", "relationshipType", "relatedSpdxElement"), r)) for r in relations],
    }, sys.stdout, indent=1)


main()
