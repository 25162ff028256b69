#!/bin/bash
# A few examples of what README.md promises. Passing them is necessary, not sufficient.
cd "$(dirname "$0")" || exit 1
failed=0
check() { # name, expected, command line
  local name=$1 expected=$2 actual
  shift 2
  actual=$("$@" 2>&1)
  if [ "$actual" = "$expected" ]; then
    echo "ok    $name"
  else
    echo "FAIL  $name"
    echo "      expected: $expected"
    echo "      got:      $actual"
    failed=1
  fi
}

check 'balance of an account' 4200.00 ./ledger.sh sample.txt balance salary
check 'balance below zero' -66.55 ./ledger.sh sample.txt balance food
check 'months' $'2024-01 2100.00 -754.20\n2024-02 2100.00 -20.40' ./ledger.sh sample.txt monthly
check 'top accounts' $'salary 4200.00\nrent -700.00' ./ledger.sh sample.txt top 2
check 'unknown account' 'no such account: pets' ./ledger.sh sample.txt balance pets
exit $failed
