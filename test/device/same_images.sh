#!/bin/bash
# test/device/same_images.sh BEFORE AFTER FOLDER: two programs make the same images. Of each
# recording in the folder, by each method that may take it, on the host with 1, 2 and 7 threads: the
# images of AFTER are those of BEFORE with one thread, byte for byte; what BEFORE refuses, AFTER
# refuses in the same words. Ends 1 where anything differs.
set -u
before=$1 after=$2 folder=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
images=0 same=0 refused=0 differs=0

nufft='ls: { iterations = 3; fhd = "nufft"; q = "nufft"; };'
maps='image: { maps = "walsh"; };'

# What stands in the place of the method that `boreside init` chose.
ways() {
	case $1 in
	cartesian)
		echo 'method = "cartesian";'
		echo "method = \"cartesian\"; parallel = \"sense\"; ls: { iterations = 5; }; $maps"
		echo 'method = "gridding"; trajectory: { type = "cartesian"; };'
		echo 'method = "ls"; trajectory: { type = "cartesian"; }; ls: { iterations = 3; };'
		;;
	*)
		echo 'method = "gridding";'
		echo 'method = "ls"; ls: { iterations = 3; };'
		echo "method = \"ls\"; $nufft"
		echo "method = \"sense\"; $nufft $maps"
		;;
	esac
	echo 'method = "noop";'
}

# run PROGRAM THREADS OUT: its images, or the words that it refuses with
run() {
	mkdir "$3"
	sed "s|run_dir = |threads = $2; run_dir = |
		s|cache_dir = .*;|cache_dir = \"$dir/cache\";|" "$dir/way.cfg" >"$dir/run.cfg"
	(cd "$3" && timeout 300 "$1" recon -c "$dir/run.cfg" -o image.cfl "$recording") \
		>"$dir/log" 2>&1 || tail -n 1 "$dir/log" >"$3/refused"
}

for recording in $(find "$folder" -name '*.h5' | sort); do
	"$before" init --from "$recording" --no-try --force -o "$dir/site.cfg" >"$dir/log" 2>&1 ||
		continue
	method=$(sed -n 's/^[\t ]*method = "\(.*\)";.*/\1/p' "$dir/site.cfg")
	while read -r way; do
		rm -rf "$dir"/is.* "$dir/was" "$dir/cache"
		sed "s|^\([\t ]*\)method = .*|\1$way|; /parallel = /d; /partial_fourier = /d" \
			"$dir/site.cfg" >"$dir/way.cfg"
		[ "$way" != 'method = "cartesian";' ] || cp "$dir/site.cfg" "$dir/way.cfg"
		run "$before" 1 "$dir/was"
		for threads in 1 2 7; do run "$after" $threads "$dir/is.$threads"; done
		for threads in 1 2 7; do
			if diff -r "$dir/was" "$dir/is.$threads" >"$dir/diff"; then
				if [ -e "$dir/was/refused" ]; then
					refused=$((refused + 1))
				else
					same=$((same + 1))
				fi
				images=$((images + $(find "$dir/was" -name '*.cfl' | wc -l)))
			else
				differs=$((differs + 1))
				echo "differs: $recording, $way, $threads threads:"
				head -n 3 "$dir/diff"
			fi
		done
	done < <(ways "$method")
	echo "${recording##*/}: so far $same the same, $refused refused alike, $differs differ"
done
echo "$same runs, $images images: the same; $refused refused in the same words; $differs differ"
[ $differs -eq 0 ]
