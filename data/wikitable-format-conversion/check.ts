/** Scores 1 if the file, read in this format, contains the table. */
export function testScript(format: string, path: string): string {
  return `#!/bin/sh
# Reads ${path} as ${format} and compares it with table.json.
reward=0
if python3 -I /tests/check.py ${format} ${path} /tests/table.json; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
`
}

/** Reads a table in any of the formats. */
export const checkPy = `import csv, html.parser, io, json, os, re, sys

form, path, expected = sys.argv[1:4]


class Tables(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.cell = [], None

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell)
            self.cell = None


def markdown(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = []
    for line in lines:
        line = line[1:] if line.startswith("|") else line
        line = line[:-1] if line.endswith("|") and not line.endswith("\\\\|") else line
        rows.append([cell.replace("\\\\|", "|") for cell in re.split(r"(?<!\\\\)\\|", line)])
    if len(rows) < 2 or not all(re.fullmatch(r"\\s*:?-+:?\\s*", cell) for cell in rows[1]):
        raise ValueError("no line below the head")
    return [rows[0]] + rows[2:]


def records(items):
    head = list(items[0])
    if any(list(item) != head for item in items):
        raise ValueError("keys differ")
    return [head] + [[item[name] for name in head] for item in items]


def columns(value):
    head = list(value)
    if len({len(value[name]) for name in head}) != 1:
        raise ValueError("lengths differ")
    return [head] + [list(row) for row in zip(*(value[name] for name in head))]


def html_rows(text):
    tables = Tables()
    tables.feed(text)
    return tables.rows


def table(value):
    return [value["header"]] + value["rows"]


READERS = {
    "csv": lambda text: list(csv.reader(io.StringIO(text))),
    "tsv": lambda text: list(csv.reader(io.StringIO(text), delimiter="\\t")),
    "json-records": lambda text: records(json.loads(text)),
    "json-lines": lambda text: records([json.loads(line) for line in text.splitlines() if line.strip()]),
    "json-columns": lambda text: columns(json.loads(text)),
    "json-table": lambda text: table(json.loads(text)),
    "markdown": markdown,
    "html": html_rows,
}


def plain(rows):
    return [[re.sub(r"\\s+", " ", str(cell)).strip() for cell in row] for row in rows if row]


if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 10_000_000:
    sys.exit("no such file")
with open(expected) as file:
    wanted = plain(table(json.load(file)))
with open(path, encoding="utf-8-sig", newline="") as file:
    text = file.read()
try:
    given = plain(READERS[form](text))
except Exception as error:
    sys.exit("not " + form + ": " + str(error))
sys.exit(0 if given == wanted else "the tables differ")
`
