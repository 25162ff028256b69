#!/bin/sh
cat /app/restored/data/*.csv
