"""Reads an exported dataset of traces with the library named first, and compares every row with its JSON lines."""

import json
import sys
from pathlib import Path


def rows_by_pyarrow(dataset):
    import pyarrow
    import pyarrow.parquet

    tables = [pyarrow.parquet.read_table(file) for file in sorted(dataset.glob("data/*.parquet"))]
    message = pyarrow.list_(pyarrow.field("element", pyarrow.struct([("role", pyarrow.string()), ("content", pyarrow.string())])))
    assert tables[0].schema.field("conversations").type == message, tables[0].schema.field("conversations").type
    return pyarrow.concat_tables(tables).to_pylist()


def rows_by_datasets(dataset, cache):
    import datasets

    rows = datasets.load_dataset(str(dataset), split="train", cache_dir=cache)
    text = datasets.Value("string")
    features = rows.features["conversations"]
    item = features[0] if isinstance(features, list) else features.feature
    assert item == {"role": text, "content": text}, features
    assert rows.features["input_tokens"] == datasets.Value("int64"), rows.features
    return list(rows)


library, folder, cache = sys.argv[1:]
dataset = Path(folder)
rows = rows_by_pyarrow(dataset) if library == "pyarrow" else rows_by_datasets(dataset, cache)
lines = [json.loads(line) for file in sorted(dataset.glob("jsonl/*.jsonl")) for line in file.read_text().splitlines()]
assert len(lines) > 4, "there are hardly any rows"
assert rows == lines, "the rows of the two formats differ"
print(f"{library}: {len(rows)} traces read, every value as it was")
