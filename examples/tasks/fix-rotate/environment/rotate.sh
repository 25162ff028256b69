#!/bin/sh
# rotate.sh DIR KEEP
dir=$1
keep=$2

cd $dir
for log in `ls *.log`; do
  for n in $(seq 1 $keep); do
    next=$((n + 1))
    mv $log.$n $log.$next 2>/dev/null
  done
  cp $log $log.1
  rm $log
  touch $log
  if [[ -f $log.$keep ]]; then
    rm $log.$keep
  fi
done
