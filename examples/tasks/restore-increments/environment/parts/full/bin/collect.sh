#!/bin/sh
echo "collecting from $1"
