#!/bin/bash
# Tries the program on journals it has not seen. Every case counts: the reward is 1 only when all pass.
set -u
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT

program=/app/ledger/ledger.sh
passed=0 failed=0 cases=
record() { # name, status
  if [ "$2" = passed ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  echo "$2: $1"
  cases="$cases${cases:+,}{\"name\":\"$1\",\"status\":\"$2\",\"duration\":0}"
}
check() { # name, exit code, expected output, arguments
  local name=$1 code=$2 expected=$3 actual actual_code
  shift 3
  actual=$(cd / && timeout 10 bash "$program" "$@" 2> /tmp/stderr.$$)
  actual_code=$?
  if [ "$actual" = "$expected" ] && [ "$actual_code" = "$code" ]; then
    record "$name" passed
  else
    printf 'expected (exit %s):\n%s\ngot (exit %s):\n%s\n' "$code" "$expected" "$actual_code" "$actual"
    record "$name" failed
  fi
}
complains() { # name, how standard error starts
  if [[ "$(cat /tmp/stderr.$$)" == "$2"* ]]; then record "$1" passed; else record "$1" failed; fi
}

mixed=/tests/journals/mixed.txt ties=/tests/journals/ties.txt
check 'sums to zero' 0 0.00 $mixed balance food
check 'cents with one digit' 0 3.50 $mixed balance axb
check 'a dot is no pattern' 0 0.45 $mixed balance a.b
check 'brackets are no pattern' 0 20.07 $mixed balance '[x]'
check 'a backslash is a character' 0 2.00 $mixed balance '\n'
check 'hash in an account' 0 1.10 $mixed balance '#odd'
check 'part of a name is no match' 0 -7.50 $mixed balance food-pets
check 'large amount' 0 -1000000.01 $mixed balance savings
check 'unknown account' 1 '' $mixed balance pets
complains 'unknown account is named' 'no such account: pets'
check 'months in order' 0 $'2022-12 0.00 -10.00\n2023-01 10.00 0.00\n2023-12 0.50 -0.05\n2024-02 26.67 -1000007.51' $mixed monthly
check 'month without income' 0 $'2024-05 208.99 -100.00\n2024-06 0.00 -1000.00' $ties monthly
check 'top is numeric' 0 $'delta -1000.00\nbeta -100.00\nzeta 100.00\nalpha 99.99' $ties top 4
check 'top with fewer accounts' 0 $'delta -1000.00\nbeta -100.00\nzeta 100.00\nalpha 99.99\ngamma 9.00\nnil 0.00' $ties top 50
check 'unknown command' 2 '' $mixed yearly
complains 'usage is shown' 'usage:'
check 'no command' 2 '' $mixed
check 'account missing' 2 '' $mixed balance

(cd /app/ledger && sha256sum -c --status /tests/kept.sha256) && record 'other files unchanged' passed || record 'other files unchanged' failed
if bash /app/ledger/run-tests.sh; then record 'own tests' passed; else record 'own tests' failed; fi

printf '{"results":{"tool":{"name":"test.sh"},"summary":{"tests":%d,"passed":%d,"failed":%d,"pending":0,"skipped":0,"other":0,"start":0,"stop":0},"tests":[%s]}}\n' \
  $((passed + failed)) $passed $failed "$cases" > /logs/verifier/ctrf.json
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && reward=1
exit 0
