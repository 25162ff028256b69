#!/bin/bash
# A small bookkeeping program; README.md says what it promises.
usage() {
  echo "usage: ledger.sh FILE balance ACCOUNT | monthly | top N" >&2
  exit 1
}

[ $# -ge 2 ] || usage
file=$1
command=$2

# Prints "DATE ACCOUNT CENTS" for every entry.
entries() {
  grep -v '^#' "$file" | awk 'NF >= 3 {
    amount = $3
    split(amount, part, ".")
    cents = part[1] * 100 + part[2]
    print $1, $2, cents
  }'
}

# Turns the cents in the last column into an amount.
format() {
  awk '{
    cents = $NF
    $NF = int(cents / 100) "." sprintf("%02d", cents % 100)
    print
  }'
}

balance() {
  entries | grep " $1" | awk '{ sum += $3 } END { print sum + 0 }' | format
}

monthly() {
  entries | awk '
    { month = substr($1, 6, 2) }
    $3 > 0 { income[month] += $3 }
    $3 < 0 { spent[month] += $3 }
    END { for (month in income) print month, income[month] + 0, spent[month] + 0 }
  ' | sort | format
}

top() {
  entries | awk '{ sum[$2] += $3 } END { for (name in sum) print name, sum[name] }' | sort -k2 -r | head -n "$1" | format
}

case $command in
  balance) balance "$3" ;;
  monthly) monthly ;;
  top) top "$3" ;;
  *) usage ;;
esac
