/** The test of an answer: its values, in any order. */
export const questionTest = `#!/bin/sh
reward=0
if [ -f /app/answer.txt ] && [ ! -L /app/answer.txt ] && python3 -I /tests/check_answer.py /tests/answers.json /app/answer.txt; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
`

/**
 * Compares values as the WikiTableQuestions evaluator does: ignoring case, punctuation, quotes and trailing brackets;
 * numbers by value, with or without their unit.
 */
export const checkAnswerPy = String.raw`import json, re, sys, unicodedata


def plain(text):
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    text = re.sub("[\u2018\u2019\u00b4]", "'", text)
    text = re.sub("[\u201c\u201d]", '"', text)
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    while True:
        shorter = re.sub(r"((?<!^)\[[^\]]*\]|^\[\d+\]|[\u2022\u2020\u2021*#+])*$", "", text.strip())
        shorter = re.sub(r"(?<!^)( \([^)]*\))*$", "", shorter.strip())
        shorter = re.sub(r'^"([^"]*)"$', r"\1", shorter.strip())
        if shorter == text:
            break
        text = shorter
    return re.sub(r"\s+", " ", text.rstrip(".")).lower().strip()


def number(text):
    """A number and the words after it, such as a unit."""
    found = re.fullmatch(r"[$]?(-?[\d.]+)%?((?: [a-z]+){0,2})", re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))
    try:
        return (float(found[1]), found[2].split()) if found else (None, [])
    except ValueError:
        return None, []


# Without these words a value is another one: 12 June, 3 pm, 8 million.
no_unit = set(
    "am pm ad bc bce ce hundred thousand million billion trillion mn bn "
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)


def same(wanted, given):
    wanted, given = plain(wanted), plain(given)
    if wanted == given:
        return True
    (x, unit), (y, words) = number(wanted), number(given)
    if x is None or y is None or abs(x - y) >= 1e-6:
        return False
    # A unit may be added or left out, but not exchanged.
    return unit == words or not unit or (not words and no_unit.isdisjoint(unit))


wanted = json.load(open(sys.argv[1], encoding="utf-8"))
with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
    given = [line for line in file.read(100000).splitlines() if line.strip()]
left = list(given)
for value in wanted:
    match = next((line for line in left if same(value, line)), None)
    if match is None:
        sys.exit(1)
    left.remove(match)
sys.exit(1 if left else 0)
`
