#!/bin/bash
# test/unit/board/usage.sh - what the program says of itself: help of every command on standard
# output with exit status 0; a usage error is one line on standard error that names the fault, with
# exit status 2.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# helps WORDS ARGUMENTS...: status 0, the words on standard output, nothing on standard error
helps() {
	local words=$1 rc
	shift
	"$BORESIDE" "$@" >out 2>err
	rc=$?
	if [ $rc -eq 0 ] && [ ! -s err ] && grep -q -e "$words" out; then
		echo "ok boreside $*"
	else
		echo "not ok boreside $*: status $rc, $(head -n 1 out) $(head -n 1 err)"
	fi
}

# wrong WORDS ARGUMENTS...: status 2, one line with the words on standard error, nothing on standard
# output
wrong() {
	local words=$1 rc
	shift
	"$BORESIDE" "$@" >out 2>err
	rc=$?
	if [ $rc -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] &&
		grep -q -F -e "$words" err; then
		echo "ok boreside $*: $words"
	else
		echo "not ok boreside $*: status $rc, not '$words': $(cat err)"
	fi
}

helps '^  serve ' help
helps '^  serve ' --help
helps '^  serve ' -h
release=$(sed -n 's/^#define BS_VERSION "\(.*\)"$/\1/p' "$here/core/version.h")
helps "^boreside ${release:?}, CUDA" version
helps "^boreside $release, CUDA" --version
wrong 'COMMAND is missing'
wrong "no command 'sreve' (did you mean serve?)" sreve
wrong "no command 'zzz'; see" zzz
wrong "no option '--confg' (did you mean --config?)" recon --confg x
wrong "no option '--confg=x' (did you mean --config?)" recon --confg=x
wrong "no action 'lsit' (did you mean list?)" log lsit x
wrong 'no such trajectory (did you mean spiral2d?)' phantom --traj spiral --matrix 32,32 -o x.h5
wrong "no command '--verbose'" --verbose
wrong "no command 'sreve'" help sreve

commands=$("$BORESIDE" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 12 ] &&
	echo "ok help lists $(echo "$commands" | wc -l) commands" ||
	echo "not ok help lists only: $commands"
for c in $commands; do
	helps "^usage: boreside $c" "$c" --help
	cp out long
	helps "^usage: boreside $c" "$c" -h
	helps "^usage: boreside $c" help "$c"
	cmp -s out long && echo "ok $c: help is the same in all ways" ||
		echo "not ok $c: help differs"
	helps "^usage: boreside $c" "$c" --help --no-such-option
	wrong "no option '--no-such-option'" "$c" --no-such-option
	wrong "no option '-Z'" "$c" -Z
	wrong "no option '---'" "$c" ---
	# every option that takes a value, without one: as --help spells it
	sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\) [A-Z].*/\2/p' long >options
	while read -r option; do
		wrong ' needs ' "$c" "$option"
	done <options
	# every option that takes none, with one
	sed -n 's/^  \(--[a-z-]*\)   .*/\1/p' long >options
	while read -r option; do
		wrong "$option takes no value" "$c" "$option=1"
	done <options
done

# what must be given, and what is too much
for c in serve arm recon certify tune; do wrong '-c FILE is missing' $c; done
wrong '-p PROTOCOL is missing' tune -c x
wrong '-o DIR is missing' record -c x
wrong '-c FILE is missing' record -o x
wrong '-c is given twice' recon -c x -c y
wrong '--from is given twice' init --from x --from=y
wrong '-o DIR is missing' receive -c x
wrong 'ACTION is missing' log
wrong 'PATH... is missing' log verify
wrong '-o OUT is missing' recon -c x r.h5
wrong '-o W.mtx is missing' prior a.cfl
wrong '-o RECORDING.h5 is missing' phantom --matrix 32,32
wrong 'RECORDING is missing' recon -c x -o y.cfl
wrong 'RECORDING is missing' replay -c x
wrong 'RECORDING is missing' certify -c x
wrong 'RECORDING is missing' delays
wrong 'REFERENCE is missing' prior -o w.mtx
wrong 'A is missing' compare
wrong 'B is missing' compare a.cfl
wrong 'FILE is missing' check
wrong 'FILE is missing' check --measure
wrong "unexpected 'c.cfl'" compare a.cfl b.cfl c.cfl
wrong "unexpected 'y'" check x y
wrong "unexpected 's.h5'" replay -c x r.h5 s.h5
wrong "unexpected 's.h5'" recon -c x -o y.cfl r.h5 s.h5
wrong "unexpected 's.h5'" certify -c x r.h5 s.h5
for c in serve arm; do wrong "unexpected 'x'" $c -c y x; done
wrong "unexpected 'w'" tune -c y -p z x w
wrong "unexpected 'x'" phantom -o y.h5 x
for c in status version drain reload; do wrong "unexpected 'x'" $c x; done
wrong "unexpected '--json'" status -- --json

# what excludes or needs something else
wrong '--keys goes alone' check --keys x
wrong 'either -c FILE or --url URL' replay r.h5
wrong 'either -c FILE or --url URL' replay -c x --url ipc:///y r.h5
wrong '--asap and --speed' replay -c x --asap --speed 2 r.h5
wrong '--w-out w.mtx: without --rounds' recon -c x -o y.cfl --w-out w.mtx r.h5
wrong '--resolution and --max-noise' tune -c x -p y --resolution 2 --max-noise 1
wrong 'HI must be above LO' tune -c x -p y --lambda 2:1
wrong 'go together' phantom -c x -o y.h5
wrong 'sizes come from x' phantom -c x -p y --coils 2 -o z.h5
wrong '--matrix is missing' phantom -o y.h5
wrong '--samples and --readouts' phantom --matrix 32x32 --traj cones -o y.h5
wrong 'A must be below 1' phantom --matrix 32x32 --motion 1,4 -o y.h5
wrong '--name ' phantom --matrix 32x32 --name '' -o y.h5

wrong "no action 'show'" log show x
wrong 'export: a log' log export x
wrong 'export: a log' log export x y z
wrong 'prune: a folder' log prune x
wrong 'prune: a folder' log prune x y --keep 1
wrong 'one of -c FILE and --url URL' receive -o x
wrong 'one of -c FILE and --url URL' receive -c x --url ipc:///y -o x
wrong "--name 'a/b': letters" receive -c x -o y --name a/b
wrong "--type 'tif': mrd, cfl, png, nifti_4d, nifti, nifti_gz or dicom" receive -c x -o y --type tif
wrong '--segment 8: not larger' record -c x -o y --segment 8 --message 8

# numbers: every option that takes one, what is none, and what is out of its range
numbers() { # numbers COMMAND NAME VALUES...: refused, each
	local c=$1 name=$2 value
	shift 2
	for value in "$@" '' x 1x nan inf; do
		wrong "--$name $value: not " "$c" "--$name" "$value"
	done
}
numbers recon rounds 17 -1 1.5
numbers recon edge 0 -1 1e7
numbers recon neighbors 0 27 4.5 99999999999999999999
numbers prior neighbors 0 27
for name in edge outside; do numbers prior $name 0 -1; done
for name in max-nrmse max-unscaled; do numbers compare $name -1; done
numbers status wait -1
numbers replay speed 0 -1 1e7
numbers replay patience 0 1e7
numbers replay loop -1 1.5 18446744073709551616
numbers replay limit 0 4294967296
numbers replay session 0 0x 0x10000000000000000
numbers certify minutes 0 1e6
numbers certify seconds 0 1e7
numbers certify images 0 1.5 1000001
numbers certify speed 0 1e5
for name in noise resolution max-noise; do numbers tune $name 0 -1; done
numbers tune steps 1 65
numbers delays spokes 1 4097
numbers record message 0 65
numbers receive message 0 2048
numbers record segment 1 4097
for c in record log; do numbers $c keep-hours 0 1e7; done
numbers tune trials 0 1001
numbers tune radius 0 -1
numbers tune lambda 1 0:1 1:0 1:2:3 1,
numbers tune at 3 1,2,3,4 1,-2 1,,2
numbers phantom matrix 32 32x32x32x32 0x32 32x513 32x
for name in samples readouts interleaves slices repetitions; do
	numbers phantom $name 0 1048577; done
numbers phantom coils 0 65
numbers phantom echoes 0 4
numbers phantom reach 0 0.51
for name in turns snr tr-us dwell-us; do numbers phantom $name -1; done
numbers phantom seed -1 2147483648
numbers phantom motion 0.5 0.5,0 0,3
wrong '--traj rosette: no such trajectory' phantom --traj rosette
wrong '--traj file: no such trajectory' phantom --traj file
wrong '--load tape' certify --load tape

# the ways to write an option
"$BORESIDE" phantom --matrix=16x16 -oa.h5 --coils 2 >out 2>err && [ -s a.h5 ] &&
	echo "ok --name=value and -ovalue" || echo "not ok --name=value and -ovalue: $(cat err)"
"$BORESIDE" compare a_true.cfl --max-unscaled 0 -- a_true.cfl >out 2>err &&
	echo "ok options between operands, and -- ends them" ||
		echo "not ok between operands: $(cat err)"
