#!/bin/bash
# A character-by-character CSV reader: bytes are enough, because everything special is ASCII.
set -euo pipefail
export LC_ALL=C
cd /app
awk 'BEGIN {
  RS = "\001"
  escape["\""] = "\\\""; escape["\\"] = "\\\\"; escape["\n"] = "\\n"; escape["\r"] = "\\r"; escape["\t"] = "\\t"
}
function literal(text, quoted, column,    i, c, out) {
  if (text == "" && !quoted) return "null"
  if (column == 1 || column == 4) return text
  if (column == 3) return text == "yes" ? "true" : "false"
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    out = out (c in escape ? escape[c] : c)
  }
  return "\"" out "\""
}
function end_field() {
  column++
  if (record == 0) key[column] = field
  else line = line (column > 1 ? "," : "{") "\"" key[column] "\":" literal(field, quoted, column)
  field = ""
  quoted = 0
}
function end_record() {
  end_field()
  if (record > 0) print line "}"
  record++
  column = 0
  line = ""
}
{
  text = $0
  n = length(text)
  for (i = 1; i <= n; i++) {
    c = substr(text, i, 1)
    if (inside) {
      if (c != "\"") field = field c
      else if (substr(text, i + 1, 1) == "\"") { field = field "\""; i++ }
      else inside = 0
    } else if (c == "\"") { inside = 1; quoted = 1 }
    else if (c == ",") end_field()
    else if (c == "\r" && substr(text, i + 1, 1) == "\n") { end_record(); i++ }
    else field = field c
  }
  end_record()
}' customers.csv > customers.jsonl
