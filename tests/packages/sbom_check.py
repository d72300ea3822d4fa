#!/usr/bin/env python3
"""tests/packages/sbom_check.py SBOM ELF...: an SBOM has the form of spdx.schema.json, its references
lead somewhere, and it names a package for each library that the programs link."""

import json
import pathlib
import re
import subprocess
import sys

import jsonschema

sbom = json.loads(pathlib.Path(sys.argv[1]).read_text())
schema = json.loads((pathlib.Path(__file__).parent / "spdx.schema.json").read_text())
jsonschema.Draft7Validator(schema).validate(sbom)
elements = [e["SPDXID"] for e in sbom["packages"] + sbom["files"]] + [sbom["SPDXID"]]
assert len(elements) == len(set(elements)), "two elements have one SPDXID"
for relation in sbom["relationships"]:
    for end in ("spdxElementId", "relatedSpdxElement"):
        assert relation[end] in elements, f"{relation[end]} is no element"
named = {p["name"] for p in sbom["packages"]}
for elf in sys.argv[2:]:
    for line in subprocess.run(["ldd", elf], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        soname = line.split()[0]
        linked = subprocess.run(["readelf", "-d", elf], check=True, stdout=subprocess.PIPE, text=True).stdout
        if f"[{soname}]" not in linked or "=>" not in line:
            continue
        path = pathlib.Path(line.split()[2])
        real = str(path.resolve())
        owner = subprocess.run(["dpkg", "-S", real, real.removeprefix("/usr")], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout
        packages = set(re.split("[:, ]+", owner))
        if not packages & named:
            sys.exit(f"{sys.argv[1]} lacks {soname}, which {elf} links")
