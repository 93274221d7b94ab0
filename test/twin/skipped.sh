#!/bin/bash
# test/twin/skipped.sh - in place of the twins, which a build without CUDA has not: a line for each
cd "$(dirname "$0")" || exit 1
find . -name '*.c' | sort | sed 's|^\./\(.*\)\.c$|skip \1: built with GPU=0|'
