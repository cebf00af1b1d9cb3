#!/bin/sh
# Writes 50 MB to standard error, creates the file of the second argument, and never answers.
head -c 50000000 /dev/zero | tr '\0' x >&2
touch "$2"
exec sleep 1000
