"""Makes a CUDA build of torch importable where no CUDA library is installed: cuda_stubs.py TORCH_LIB_DIR

The package index has only CUDA builds of torch for Linux. Their libraries take gigabytes and are of no use without a GPU, so
the environments are made without them, and this puts an empty stand-in next to torch for each library it links: it defines
every symbol that torch wants of it, under the version torch wants, as a function that reports "insufficient driver" (35).
torch then finds no GPU and runs on the processor.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

INSUFFICIENT_DRIVER = 35
LIBRARY = re.compile(r"lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|cusparseLt|nccl|nvJitLink|nvrtc|nvshmem_host|nvToolsExt)\.so")
SYMBOL = re.compile(r"(__)?(cu|nccl|nvshmem|nvrtc|nvJit|nvtx)")
# Callers print what these return, so they must return text.
RETURNS_TEXT = re.compile(r"(String|Name|ncclGetLastError)$")


def readelf(file, *flags):
    return subprocess.run(["readelf", "-W", *flags, file], capture_output=True, text=True, check=True).stdout.splitlines()


def what_torch_wants(files):
    """The CUDA libraries linked, the versions wanted of each, and the undefined symbols with their version or None."""
    libraries, versions, undefined, defined = set(), {}, {}, set()
    for file in files:
        for line in readelf(file, "-d"):
            found = re.search(r"NEEDED.*\[(.*)\]", line)
            if found and LIBRARY.match(found[1]):
                libraries.add(found[1])
        library = None
        for line in readelf(file, "-V"):
            library = found[1] if (found := re.search(r"File: (\S+)", line)) else library
            found = re.search(r"Name: (\S+)\s+Flags", line)
            if found and library and LIBRARY.match(library):
                versions[found[1]] = library
        for line in readelf(file, "--dyn-syms"):
            words = line.split()
            if len(words) < 8 or not words[0].endswith(":"):
                continue
            name, _, version = words[7].partition("@")
            if words[6] == "UND":
                undefined.setdefault(name, version.lstrip("@") or None)
            else:
                defined.add(name)
    wanted = {name: version for name, version in undefined.items() if name not in defined and SYMBOL.match(name)}
    return libraries | set(versions.values()), versions, wanted


def source_of(symbols):
    for name in symbols:
        if RETURNS_TEXT.search(name):
            yield f'const char *{name}(void) {{ return "no CUDA here"; }}'
        else:
            yield f"int {name}(void) {{ return {INSUFFICIENT_DRIVER}; }}"


def build(target, by_version):
    """One stand-in: `by_version` maps each version of the library, or None, to its symbols."""
    named = {version: symbols for version, symbols in by_version.items() if version}
    script = "".join("%s { %s };\n" % (version, "".join(["global: ", *(f"{s};" for s in symbols)]) if symbols else "") for version, symbols in named.items())
    with tempfile.TemporaryDirectory() as folder:
        code, map_file = pathlib.Path(folder, "stub.c"), pathlib.Path(folder, "stub.map")
        code.write_text("\n".join(source_of(s for symbols in by_version.values() for s in symbols)) + "\nint ot_agent_stub;\n")
        map_file.write_text(script or "{ global: *; };\n")
        command = ["gcc", "-shared", "-fPIC", "-w", "-O1", "-fno-builtin", "-o", str(target), str(code)]
        subprocess.run([*command, f"-Wl,-soname,{target.name}", f"-Wl,--version-script={map_file}"], check=True)


folder = pathlib.Path(sys.argv[1])
libraries, versions, wanted = what_torch_wants(sorted(file for file in folder.glob("*.so*") if not LIBRARY.match(file.name)))
stubs = {library: {version: [] for version, owner in versions.items() if owner == library} for library in libraries}
anywhere = next(library for library in sorted(libraries) if library.startswith("libcudart."))
for name, version in wanted.items():
    # A symbol without a version may live in any library: the loader searches them all.
    stubs[versions.get(version, anywhere)].setdefault(version if version in versions else None, []).append(name)
for library, by_version in sorted(stubs.items()):
    build(folder / library, by_version)
print(f"{len(stubs)} libraries with {len(wanted)} symbols stand in for CUDA")
