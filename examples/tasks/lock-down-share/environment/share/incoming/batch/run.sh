#!/bin/sh
echo batch
