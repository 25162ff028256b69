/** The test of an answer: its values, in any order. */
export const questionTest = `#!/bin/sh
reward=0
if [ -f /app/answer.txt ] && [ ! -L /app/answer.txt ] && python3 -I /tests/check_answer.py /tests/answers.json /app/answer.txt; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
`

/** Compares values as the evaluator of WikiTableQuestions does: without case, marks, quotes and what stands in brackets at the end; numbers by value. */
export const checkAnswerPy = String.raw`import json, re, sys, unicodedata


def plain(text):
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    text = re.sub("[\u2018\u2019\u00b4]", "'", text)
    text = re.sub("[\u201c\u201d]", '"', text)
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    while True:
        shorter = re.sub(r"((?<!^)\[[^\]]*\]|\[\d+\]|[\u2022\u2020\u2021*#+])*$", "", text.strip())
        shorter = re.sub(r"(?<!^)( \([^)]*\))*$", "", shorter.strip())
        shorter = re.sub(r'^"([^"]*)"$', r"\1", shorter.strip())
        if shorter == text:
            break
        text = shorter
    return re.sub(r"\s+", " ", text.rstrip(".")).lower().strip()


def number(text):
    try:
        plainly = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
        return float(re.sub(r"^([$]?-?[\d.]+%?)( [a-z]+){0,2}$", r"\1", plainly).lstrip("$").rstrip("%"))
    except ValueError:
        return None


def same(a, b):
    a, b = plain(a), plain(b)
    if a == b:
        return True
    x, y = number(a), number(b)
    return x is not None and y is not None and abs(x - y) < 1e-6


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
