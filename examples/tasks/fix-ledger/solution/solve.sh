#!/bin/bash
# Keeps the program's shape and repairs it function by function.
set -euo pipefail
cat > /app/ledger/ledger.sh <<'PROGRAM'
#!/bin/bash
# A small bookkeeping program; README.md says what it promises.
export LC_ALL=C
usage() {
  echo "usage: ledger.sh FILE balance ACCOUNT | monthly | top N" >&2
  exit 2
}

[ $# -ge 2 ] || usage
file=$1
command=$2
[ -r "$file" ] || usage

# Prints "DATE ACCOUNT CENTS" for every entry. Cents are counted from the digits, with the sign put on afterwards.
entries() {
  awk '/^[ \t]*#/ || NF < 3 { next }
  {
    sign = $3 ~ /^-/ ? -1 : 1
    digits = $3
    sub(/^[-+]/, "", digits)
    split(digits, part, ".")
    printf "%s %s %d\n", $1, $2, sign * (part[1] * 100 + substr(part[2] "00", 1, 2))
  }' "$file"
}

# Turns the cents from column FIRST on into amounts.
format() {
  awk -v first="$1" '{
    for (i = first; i <= NF; i++) {
      cents = $i < 0 ? -$i : $i
      $i = sprintf("%s%d.%02d", $i < 0 ? "-" : "", int(cents / 100), cents % 100)
    }
    print
  }'
}

balance() {
  sum=$(entries | ACCOUNT=$1 awk '$2 == ENVIRON["ACCOUNT"] { n++; sum += $3 } END { if (n) printf "%d\n", sum }')
  if [ -z "$sum" ]; then
    echo "no such account: $1" >&2
    exit 1
  fi
  echo "$sum" | format 1
}

monthly() {
  entries | awk '
    { month = substr($1, 1, 7); seen[month] = 1 }
    $3 > 0 { income[month] += $3 }
    $3 < 0 { spent[month] += $3 }
    END { for (month in seen) printf "%s %d %d\n", month, income[month], spent[month] }
  ' | sort | format 2
}

top() {
  entries | awk '{ sum[$2] += $3 }
    END { for (name in sum) printf "%d %s %d\n", sum[name] < 0 ? -sum[name] : sum[name], name, sum[name] }' |
    sort -k1,1nr -k2,2 | cut -d ' ' -f 2- | awk -v n="$1" 'NR <= n' | format 2
}

case $command in
  balance) [ $# -eq 3 ] || usage; balance "$3" ;;
  monthly) [ $# -eq 2 ] || usage; monthly ;;
  top) [[ $# -eq 3 && $3 =~ ^[0-9]+$ ]] || usage; top "$3" ;;
  *) usage ;;
esac
PROGRAM
/app/ledger/run-tests.sh
