"""Makes the stubs of the messages: src/dpnmf/v1 from ../proto, by protoc.

    python3 python/stubs.py [FOLDER]

needs the Debian packages protobuf-compiler and protobuf-compiler-grpc. The
build of a wheel calls it; who uses the package without pip calls it once. With
FOLDER, they are written to FOLDER/dpnmf/v1.
"""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent / "proto"
OUT = HERE / "src"
# The messages of an analyst's client; the curator's other messages are not its own.
NAMES = ("analyst", "curator", "federation", "matrix", "privacy", "receipt", "time")
PACKAGE = '"""Messages and stubs, made by protoc from proto/dpnmf/v1."""\n'


def version() -> str:
    """That of the programs: of CMakeLists.txt, or in a source archive of the stubs made then."""
    programs, stubs = HERE.parent / "CMakeLists.txt", OUT / "dpnmf" / "v1" / "__init__.py"
    of_programs = r"(?m)^project\(dpnmf VERSION ([0-9.]+) "
    for file, pattern in (programs, of_programs), (stubs, r'(?m)^VERSION = "([0-9.]+)"$'):
        found = re.search(pattern, file.read_text()) if file.exists() else None
        if found:
            return found[1]
    sys.exit(f"{programs} is missing: build from a whole source tree.")


def make(out: pathlib.Path = OUT) -> None:
    """Writes the stubs; stops the program with a sentence if it cannot."""
    folder = out / "dpnmf" / "v1"
    if not PROTO.is_dir():
        if (folder / "analyst_pb2.py").exists():  # from a source archive
            return
        sys.exit(f"{PROTO} is missing: build from a whole source tree.")
    plugin = shutil.which("grpc_python_plugin")
    if shutil.which("protoc") is None or plugin is None:
        sys.exit("protoc is missing: apt-get install protobuf-compiler protobuf-compiler-grpc")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(f'{PACKAGE}\nVERSION = "{version()}"\n')
    files = [f"dpnmf/v1/{name}.proto" for name in NAMES]
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={out}", f"--pyi_out={out}", *files], check=True)
    subprocess.run(
        ["protoc", f"-I{PROTO}", f"--grpc_out={out}", f"--plugin=protoc-gen-grpc={plugin}", files[0]],
        check=True,
    )


if __name__ == "__main__":
    make(*map(pathlib.Path, sys.argv[1:2]))
