#!/bin/bash
# Brings all records into one form with a rank, sorts so that the best comes first, then folds by e-mail.
set -euo pipefail
export LC_ALL=C
cd /app/lists
common='
  function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
  function reject() { print FILENAME ":" FNR > "/dev/stderr" }
  function emit(email, name, phone, updated, rank,    plus) {
    email = tolower(trim(email))
    if (email !~ /^[^@]+@[^@]*\.[^@]*$/) { reject(); return }
    name = trim(name)
    gsub(/ +/, " ", name)
    plus = trim(phone) ~ /^\+/
    gsub(/[^0-9]/, "", phone)
    if (plus) phone = "+" phone
    else if (!sub(/^00/, "+", phone)) sub(/^0/, "+49", phone)
    printf "%s\t%s\t%d\t%s\t%s\n", email, updated, rank, name, phone
  }'
{
  awk -F ';' "$common"' FNR == 1 { next } NF != 4 { reject(); next } { split($4, d, "."); emit($1, $2, $3, d[3] "-" d[2] "-" d[1], 1) }' crm.txt
  awk -F '\t' "$common"' FNR == 1 { next } NF != 4 { reject(); next } { emit($3, $4, $2, $1, 2) }' shop.txt
  awk -F '|' "$common"' NF != 3 { reject(); next } { emit($2, $1, "", trim($3), 3) }' newsletter.txt
} 2> /app/rejected.txt | sort -t "$(printf '\t')" -k1,1 -k2,2r -k3,3nr | awk -F '\t' '
  function flush() { if (email != "") print email "," name "," phone "," updated }
  BEGIN { print "email,name,phone,updated" }
  $1 != email { flush(); email = $1; updated = $2; name = phone = "" }
  name == "" { name = $4 }
  phone == "" { phone = $5 }
  END { flush() }' > /app/contacts.csv
