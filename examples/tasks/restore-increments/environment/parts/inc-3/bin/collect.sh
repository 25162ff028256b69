#!/bin/sh
echo "collecting from ${1:-everywhere}"
