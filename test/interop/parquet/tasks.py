"""Reads a parquet file of tasks with the library named first, and compares every file in it with the folder it was made of."""

import io
import sys
import tarfile
from pathlib import Path


def rows_by_pyarrow(file):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {"path": "string", "task_binary": "binary"}, kinds
    return table.to_pylist()


def rows_by_datasets(file, cache):
    import datasets

    rows = datasets.load_dataset("parquet", data_files=file, split="train", cache_dir=cache)
    assert rows.column_names == ["path", "task_binary"], rows.column_names
    return list(rows)


def files_in(archive):
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        return {entry.name: (tar.extractfile(entry).read(), bool(entry.mode & 0o100)) for entry in tar if entry.isfile()}


def files_under(folder):
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in found}


library, file, folder, cache = sys.argv[1:]
rows = rows_by_pyarrow(file) if library == "pyarrow" else rows_by_datasets(file, cache)
tasks = {path.name: path for path in Path(folder).iterdir() if path.is_dir()}
assert {row["path"] for row in rows} == set(tasks), "the names of the tasks differ"
for row in rows:
    assert files_in(row["task_binary"]) == files_under(tasks[row["path"]]), row["path"]
print(f"{library}: {len(rows)} tasks read, every file as it was")
