#!/bin/sh
mkdir -p /app/restored/data/new
