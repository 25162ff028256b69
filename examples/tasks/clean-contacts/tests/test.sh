#!/bin/bash
# Gives one reward per part of the work, and `reward` = 1 only when every part is right.
set -u
export LC_ALL=C
contacts=/app/contacts.csv
column() { cut -d , -f "1,$2" "$1" 2> /dev/null; }
matches() { # number of a column, compared together with the e-mail it belongs to
  if [ -f "$contacts" ] && diff <(column /tests/expected.csv "$1") <(column "$contacts" "$1") >&2; then echo 1; else echo 0; fi
}

emails=$(matches 1)
names=$(matches 2)
phones=$(matches 3)
dates=$(matches 4)
rejected=0
cmp /tests/expected-rejected.txt /app/rejected.txt && rejected=1
reward=0
if cmp /tests/expected.csv "$contacts" && [ "$rejected" = 1 ] && (cd /app/lists && sha256sum -c /tests/lists.sha256); then reward=1; fi
printf '{"reward": %d, "emails": %d, "names": %d, "phones": %d, "dates": %d, "rejected": %d}\n' \
  "$reward" "$emails" "$names" "$phones" "$dates" "$rejected" | tee /logs/verifier/reward.json
