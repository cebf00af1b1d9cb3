#!/bin/sh
# Reads the lengths of a message and of its attachment, of which there is none, then the kind of the
# request, the length of its name, and the name. Its reply is a frame that contains the status byte
# 0. Files are in the folder of the second argument.
cd "$2" || exit 1
while :; do
  length=$(dd bs=1 count=8 status=none | head -c 4 | od -An -tu4 | tr -d ' ')
  [ -n "$length" ] || exit 0
  name=$(dd bs=1 count="$length" status=none | tail -c +3)
  echo "$$ $name" >> received
  case $name in
    long*) while [ ! -e finish ]; do sleep 0.01; done ;;
  esac
  echo "$$ $name" >> answered
  printf '\001\000\000\000\000\000\000\000\000'
done
