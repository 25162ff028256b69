#!/bin/sh
echo outside
