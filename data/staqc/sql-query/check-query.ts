import { sandboxPaths } from 'ot-agent'

/** Starts the comparison; the reward is 0 unless it says otherwise. */
export function renderQueryTest(): string {
  const { tests, verifierLogs } = sandboxPaths
  return `#!/bin/sh
# Runs query.sql and reference.sql on every database and compares what they give.
reward=0
if python3 -I ${tests}/check_query.py /app/query.sql; then
  reward=1
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}

/**
 * Compares rows in order if the reference orders them, in any order otherwise; names and order of columns do not
 * matter. A database is ignored if the reference's result changes there with the order of rows or the way ties are
 * broken: several answers would be correct. The reference must return rows, and not the same ones on every database, or
 * nothing earns a reward. A query may only read.
 */
export const checkQueryPy = `import glob, itertools, os, random, re, sqlite3, sys


def outer(text):
    """The text with blanks for brackets and what is in them, for comments, and for what is in quotation marks."""
    kept, depth = [], 0
    for piece in re.findall(r"(?s)'[^']*'|\\x22[^\\x22]*\\x22|\\x60[^\\x60]*\\x60|\\[[^\\]]*\\]|--[^\\n]*|/\\*.*?\\*/|.", text):
        depth += piece == "("
        kept.append(piece if depth == 0 and len(piece) == 1 else " " * len(piece))
        depth -= piece == ")"
    return "".join(kept)


tests = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1]
if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 100_000:
    sys.exit("no query")
with open(path, encoding="utf-8") as file:
    query = file.read()
with open(os.path.join(tests, "reference.sql"), encoding="utf-8") as file:
    reference = file.read()
# Whether the same row may come twice is left open where question and reference do not say the same of it.
loose = os.path.exists(os.path.join(tests, "any-number-of-times"))
outside = outer(reference)
# Only the last order says in which order rows come; others may stand in brackets.
order = max((found.start() for found in re.finditer(r"(?i)\\border\\s+by\\b", outside)), default=None)
ordered = order is not None
READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, getattr(sqlite3, "SQLITE_RECURSIVE", 33)}


def rows(text, database):
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(database)
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY)
        steps = [0]

        def tick():
            steps[0] += 1
            return steps[0] > 2000

        connection.set_progress_handler(tick, 10_000)
        found = connection.execute(text.strip().rstrip(";")).fetchmany(10_000)
    finally:
        connection.close()
    plain = [tuple(round(cell, 6) if isinstance(cell, float) else cell for cell in row) for row in found]
    return list(dict.fromkeys(plain)) if loose else plain


def comparable(found, order=None):
    """Rows with their columns in an order, themselves in one unless the reference orders them."""
    moved = found if order is None else [tuple(row[at] for at in order) for row in found]
    return moved if ordered else sorted(moved, key=repr)


def same(given, wanted):
    """Whether one order of the columns makes all answers equal."""
    if [len(found) for found in given] != [len(found) for found in wanted]:
        return False
    widths = {len(row) for found in given + wanted for row in found}
    if len(widths) != 1 or max(widths) > 6:
        return [comparable(found) for found in given] == [comparable(found) for found in wanted]
    aims = [comparable(found) for found in wanted]
    orders = itertools.permutations(range(widths.pop()))
    return any([comparable(found, order) for found in given] == aims for order in orders)


def shuffled(database):
    """The same tables with their rows in other orders."""
    lines = database.splitlines()
    made = [line for line in lines if not line.startswith("INSERT")]
    put = [line for line in lines if line.startswith("INSERT")]
    orders = [put[::-1]] + [random.Random(seed).sample(put, len(put)) for seed in range(4)]
    return ["\\n".join(made + order) for order in orders]


def tied(answer, database):
    """Whether rows share their place in the order, so that another right query may put or choose them otherwise."""
    if not ordered or not answer:
        return False
    end = len(outside.rstrip("; \\t\\r\\n"))
    limit = re.compile(r"(?i)\\blimit\\b").search(outside, order)
    at = limit.start() if limit else end
    found = []
    for way in ("ASC", "DESC"):
        more = "".join(", %d %s" % (nth + 1, way) for nth in range(len(answer[0])))
        try:
            # A line of its own, for a comment may stand before it.
            found.append(rows(reference[:at] + "\\n" + more + "\\n" + reference[at:end], database))
        except sqlite3.Error:
            return False
    return found[0] != found[1]


wanted, given = [], []
for name in sorted(glob.glob(os.path.join(tests, "databases", "*.sql"))):
    with open(name, encoding="utf-8") as file:
        database = file.read()
    answer = rows(reference, database)
    if tied(answer, database) or any(comparable(rows(reference, other)) != comparable(answer) for other in shuffled(database)):
        continue
    wanted.append(answer)
    try:
        given.append(rows(query, database))
    except sqlite3.Error as error:
        sys.exit("the query fails: " + str(error))
if not any(wanted) or all(comparable(found) == comparable(wanted[0]) for found in wanted):
    sys.exit("the reference tells nothing")
sys.exit(0 if same(given, wanted) else "the rows differ")
`
