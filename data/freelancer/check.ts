/** Exits with 0 if two files mean the same: JSON by value, tables by cells, other text by lines. */
export const checkPy = `import csv, io, json, os, sys

path, expected = sys.argv[1:3]
if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 10_000_000:
    sys.exit("nothing delivered")


def number(text):
    try:
        return round(float(text), 6)
    except ValueError:
        return text


def meaning(text):
    if path.endswith(".json"):
        return json.loads(text)
    if path.endswith((".csv", ".tsv")):
        rows = csv.reader(io.StringIO(text), delimiter="," if path.endswith(".csv") else "\\t")
        return [[number(cell.strip()) for cell in row] for row in rows if any(cell.strip() for cell in row)]
    return [line.rstrip() for line in text.strip().splitlines()]


with open(expected, encoding="utf-8-sig") as file:
    wanted = meaning(file.read())
try:
    with open(path, encoding="utf-8-sig") as file:
        given = meaning(file.read())
except ValueError as error:
    sys.exit("cannot be read: " + str(error))
sys.exit(0 if given == wanted else "it differs")
`
