#!/bin/bash
# test/unit/gpu/toolkit.sh - a program with CUDA starts on a machine without the CUDA toolkit and
# without a driver: it needs none of their libraries before a protocol asks for a GPU. BORESIDE.
set -u
: "${BORESIDE:?}"
if ! "$BORESIDE" --version | grep -q "CUDA built in"; then
	echo "skip libraries of the CUDA toolkit: this program has no CUDA"
	exit
fi
needed=$(readelf -d "$BORESIDE" | sed -n 's/.*(NEEDED).*\[\(lib\(cu\|nv\)[^]]*\)\].*/\1/p')
if [ -z "$(echo "$needed" | grep -v '^libcurl')" ]; then
	echo "ok no library of the CUDA toolkit is needed to start"
else
	echo "not ok it does not start without" $needed
fi
