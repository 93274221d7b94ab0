#!/bin/bash
# test/unit/gpu/loads.sh - kernels that begin while the one before writes (launch.cuh) read what it
# wrote by plain loads: no load for constant data in their machine code comes from a line that
# does not ask for a table of the plan by __ldg. Wants a build with GPU=1 and CUDA's disassemblers:
# CUOBJDUMP and NVDISASM, or those in the PATH or beside nvcc.
set -u
here=$(cd "$(dirname "$0")/../../.." && pwd)
beside=$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")
dump=${CUOBJDUMP:-$(command -v cuobjdump || echo "$beside/cuobjdump")}
read=${NVDISASM:-$(command -v nvdisasm || echo "$beside/nvdisasm")}
# what the plan wrote, before any of these kernels: source text of each __ldg that is allowed
tables='scale|p\.scale_in|p\.scale_out|twiddle|root|s\.source|s\.weight|weight|inverse|m\.slice'
tables="$tables|map|maps|a\.maps|crowd|axis\.twiddles|spectra"
for field in reach range span cell order offset weight start; do
	tables="$tables|d\\.$field"
done
cd "$here" || exit 1
if ! grep -Eho '__ldg\((\(const [a-z0-9]+ \*\))?\(?[A-Za-z_.]+' \
	$(grep -rl launch.cuh gpu --include=*.cu --include=*.cuh) \
	gpu/fft/cuda/lines.cuh gpu/solve/cuda/csr_row.cuh |
	sed 's/__ldg(//; s/(const [a-z0-9]* \*)//; s/^(//; s/^[as]\.inverse/inverse/' |
	grep -Evx "$tables" >"${TMPDIR:-/tmp}/loads.$$"; then
	echo "ok every __ldg in those sources reads a table of the plan"
else
	echo "not ok __ldg of: $(sort -u "${TMPDIR:-/tmp}/loads.$$" | tr '\n' ' ')"
fi
rm -f "${TMPDIR:-/tmp}/loads.$$"
if [ ! -x "$dump" ] || [ ! -x "$read" ] || [ ! -d build/cuda/gpu ]; then
	echo "skip the machine code: no disassembler (CUOBJDUMP, NVDISASM), or built with GPU=0"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for source in $(grep -rl launch.cuh gpu --include=*.cu) gpu/fft/cuda/registers.cu \
	gpu/nufft/cuda/plane.cu gpu/nufft/cuda/volume.cu gpu/toeplitz/cuda/sizes_*.cu; do
	[ -f "build/cuda/$source.o" ] || continue
	rm -f "$dir"/*
	cp "build/cuda/$source.o" "$dir/x.o"
	(cd "$dir" && "$dump" -xelf sm_90 x.o >/dev/null 2>&1)
	cubin=$(ls "$dir"/*.cubin 2>/dev/null | head -n 1)
	[ -n "$cubin" ] || continue
	# the innermost line of each such load; __ldg itself is a line of CUDA's own headers
	"$read" -g -c "$cubin" 2>/dev/null | awk -v here="$here/" '
		/\/\/## File/ { match($0, /"[^"]*"/); file = substr($0, RSTART + 1, RLENGTH - 2)
			match($0, /line [0-9]+/); line = substr($0, RSTART + 5, RLENGTH - 5) }
		/LDG\.[A-Z0-9.]*CONSTANT/ { all++; if (file !~ /sm_32_intrinsics/) {
			sub(here, "", file); print file ":" line } }
		END { print "all " all + 0 }' >"$dir/found"
	all=$(sed -n 's/^all //p' "$dir/found")
	bad=$(grep -v '^all ' "$dir/found" | sort -u | tr '\n' ' ')
	if [ -z "$bad" ]; then
		echo "ok $source: $all loads for constant data, each asked for by __ldg"
	else
		echo "not ok $source: plain reads became loads for constant data at $bad"
	fi
done
