/** Ends with 0 when the JSON object has exactly the expected keys, each with one of the accepted values. */
export const checkPy = `import json, os, re, sys

path, expected = sys.argv[1:3]


def plain(text):
    text = re.sub(r"[^\\w:$.]+|_", " ", str(text).lower())
    text = re.sub(r"\\b(?:a|an|the)\\b", " ", text)
    return re.sub(r"[.\\s]+", " ", text).strip()


if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 1_000_000:
    sys.exit("no such file")
with open(expected) as file:
    wanted = json.load(file)
try:
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
except ValueError:
    sys.exit("not JSON")
if not isinstance(given, dict) or set(given) != set(wanted):
    sys.exit("the keys differ")
wrong = [name for name in wanted if plain(given[name]) not in [plain(value) for value in wanted[name]]]
sys.exit("wrong: " + ", ".join(wrong) if wrong else 0)
`
