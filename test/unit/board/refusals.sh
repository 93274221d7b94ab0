#!/bin/bash
# test/unit/board/refusals.sh - what a command cannot do it refuses with exit status 1 and a reason
# that names the file, the protocol or the folder; nothing is written
set -u
: "${BORESIDE:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir -m 750 run
cat >site.cfg <<'END'
node: { run_dir = "run"; cache_dir = ""; threads = 1; };
protocols = (
{ name = "ls"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32;
  readouts = 26; trajectory: { type = "radial2d"; };
  ls: { iterations = 3; lambda = 0.1; }; budget: { image_ms = 5.0; }; },
{ name = "lines"; method = "cartesian"; matrix = [16, 16]; encoded = [32, 16];
  coils = 2; samples = 32; readouts = 16; },
{ name = "slides"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32;
  readouts = 26; trajectory: { type = "radial2d"; };
  ls: { iterations = 3; lambda = 0.1; }; frame: { step = 13; }; },
{ name = "path"; method = "ls"; matrix = [16, 16]; coils = 1; samples = 32;
  readouts = 26; trajectory: { type = "stream"; }; ls: { iterations = 3; lambda = 0.1; }; } );
END
echo 'node: { nonsense = 1; };' >bad.cfg
for n in 16 32; do
	"$BORESIDE" phantom --matrix ${n}x$n -o s$n.h5 >/dev/null || echo "not ok phantom $n"
done
find . ! -name before | sort >before

# refuses WORDS ARGUMENTS...: status 1 and the words on standard error
refuses() {
	local words=$1 rc
	shift
	timeout 60 "$BORESIDE" "$@" >out 2>err
	rc=$?
	if [ $rc -eq 1 ] && grep -q -F -e "$words" err; then
		echo "ok boreside $*: $words"
	else
		echo "not ok boreside $*: status $rc, not '$words': $(cat err)"
	fi
	rm -f out err
}

# a site file that is not valid: each command that reads one says so, by the line
for c in serve arm check certify record replay receive drain reload status recon tune phantom; do
	case $c in
	check) more= ;;
	certify | replay) more="-c bad.cfg s16.h5" ;;
	record | receive) more="-c bad.cfg -o new" ;;
	recon) more="-c bad.cfg -o new.cfl s16.h5" ;;
	tune) more="-c bad.cfg -p ls" ;;
	phantom) more="-c bad.cfg -p ls -o new.h5" ;;
	*) more="-c bad.cfg" ;;
	esac
	refuses 'bad.cfg:1: node.nonsense: unknown key' $c ${more:-bad.cfg}
done
refuses 'none.cfg: cannot be read: No such file' check none.cfg
printf 'node: {\n name = "a; [1";\n more = [1, 2;\n};\n' >open.cfg
refuses "open.cfg:3: syntax error (the '[' of line 3 is not closed)" check open.cfg
rm open.cfg

# a folder of sockets that this user is not let into: the group that is
if [ "$(id -u)" = 0 ]; then
	mkdir -m 750 closed && chgrp daemon closed && chmod 755 . && cp "$BORESIDE" all
	sed 's/"run"/"closed"/' site.cfg >closed.cfg
	setpriv --reuid=65534 --regid=65534 --clear-groups ./all status -c closed.cfg 2>err
	if grep -q 'may not enter .*closed, group daemon may: adduser' err; then
		echo "ok who may not enter is told the group"
	else
		echo "not ok who may not enter is told the group: $(cat err)"
	fi
	rm -r closed closed.cfg all err
else
	echo "skip who may not enter is told the group: root alone can try"
fi

# a protocol that the site has not, or that is of another kind
for c in "arm" "certify -o new s16.h5" "recon -o new.cfl s16.h5" "tune" "phantom -o new.h5"; do
	refuses "the site has no protocol 'none'" ${c%% *} -c site.cfg -p none $(
		[ "$c" = "${c#* }" ] || echo "${c#* }")
done
refuses "it has 'ls', 'lines', 'slides', 'path'" recon -c site.cfg -p none -o new.cfl s16.h5
mkdir images && "$BORESIDE" recon -c site.cfg -p ls -o images/i.h5 s16.h5 >/dev/null
refuses '/dataset holds images (image_1), not a recording' recon -c site.cfg -p ls -o new.cfl \
	images/i.h5
rm -r images
refuses "--before none=s16.h5: the site has no protocol" recon -c site.cfg -p ls \
	--before none=s16.h5 -o new.cfl s16.h5
refuses "--field-out: protocol 'ls' has no field.from" recon -c site.cfg -p ls \
	--field-out new.cfl -o new.cfl s16.h5
refuses 'encodedSpace/matrixSize/x is 16, protocol' recon -c site.cfg -p lines -o new.cfl s16.h5
refuses "protocol 'lines' is not of method" tune -c site.cfg -p lines
refuses 'voxel 99,0,0 is outside 16 x 16 x 1' tune -c site.cfg -p ls --at 99,1
refuses 'not for 3 dimensions' phantom --matrix 16x16x16 --traj radial2d -o new.h5

refuses "site.cfg: node.cache_dir" arm -c site.cfg -p ls
refuses "protocol 'slides'" recon -c site.cfg -p slides --rounds 2 -o new.cfl s16.h5
refuses 'neighbors' recon -c site.cfg -p ls --rounds 2 --neighbors 26 -o new.cfl s16.h5
refuses "protocol 'path'" tune -c site.cfg -p path

# a file that is not there, or is not one
refuses 'none.h5: No such file' recon -c site.cfg -p ls -o new.cfl none.h5
refuses '--before none.h5: none.h5: No such file' recon -c site.cfg -p ls --before none.h5 \
	-o new.cfl s16.h5
refuses 's16.h5 has no readout of noise' recon -c site.cfg -p ls --noise s16.h5 -o new.cfl s16.h5
refuses 'none.h5: No such file' delays none.h5
refuses 'none.h5: No such file' certify -c site.cfg -p ls -o run none.h5
refuses 'none.hdr: No such file' compare s16_true.cfl none.cfl
refuses 'none.hdr: No such file' prior -o new.mtx none.cfl
refuses 'none: No such file' replay -c site.cfg --faults none s16.h5
refuses "site.cfg, line 1: 'node:' where a line begins" replay -c site.cfg --faults site.cfg s16.h5
refuses 'none: cannot be opened: No such file' log list none
refuses 'none: cannot be opened: No such file' log verify none
refuses 'site.cfg: is no log' log verify site.cfg
refuses 'none: cannot be opened: No such file' log export none new.h5
refuses 'none: No such file' log prune none --keep 1

# images that do not fit each other
refuses 's16_true.cfl is 16 x 16, s32_true.cfl is 32 x 32' compare s16_true.cfl s32_true.cfl
refuses 'mask s32_true.cfl is 32 x 32, the images are 16 x 16' compare --mask s32_true.cfl \
	s16_true.cfl s16_true.cfl
refuses 's32_true.cfl has 32 x 32 x 1 voxels, the first reference 16 x 16 x 1' prior -o new.mtx \
	s16_true.cfl s32_true.cfl

# a folder that cannot be written to, or is a file
refuses 'none/new.cfl: cannot create' recon -c site.cfg -p ls -o none/new.cfl s16.h5
refuses 'new.tif: an image file ends in' recon -c site.cfg -p ls -o new.tif s16.h5
refuses 'none/new.h5: cannot create' phantom --matrix 16x16 -o none/new.h5
refuses 'none/new.mtx: cannot create' prior -o none/new.mtx s16_true.cfl
refuses 'folder site.cfg/new: Not a directory' certify -c site.cfg -p ls -o site.cfg/new s16.h5
refuses 'folder site.cfg/new: Not a directory' receive --url ipc://run/none.ipc -o site.cfg/new
refuses 'folder site.cfg/new: Not a directory' record -c site.cfg -o site.cfg/new

refuses "$(printf 'x%.0s' {1..250})': empty or too long a name" receive --url ipc://run/none.ipc \
	-o "$(printf 'x%.0s' {1..300})"

# a service that is not there, or does not offer it
for c in drain reload; do refuses 'no service runs there' $c -c site.cfg; done
refuses 'no service answers' status -c site.cfg
refuses 'not ready after 0 s' status --wait 0 -c site.cfg
refuses 'endpoints.images is off: nobody may ask' receive -c site.cfg -o new
refuses 'the transport must be ipc:// or tcp://' receive --url ws://x -o run

rm -f run/*; find . ! -name before ! -name after | sort >after
cmp -s before after && echo "ok nothing was written" || echo "not ok $(diff before after)"
