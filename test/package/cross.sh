#!/bin/bash
# test/package/cross.sh - the program and its tests built for aarch64 with Debian's compiler and
# arm64 packages, in a tree made for it; the unit tests run under qemu-user, and a reconstruction
# there is compared with that of this machine. Many minutes, network, root: for .ci/full.
#   BORESIDE  the program of this machine
#   TREE      a folder that keeps the tree, and what is built in it, for the next time
#   MIRROR    of Debian's packages
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../.." && pwd)
mirror=${MIRROR:-http://deb.debian.org/debian}
for tool in mmdebstrap qemu-aarch64 git; do
	command -v $tool >/dev/null || { echo "skip aarch64: no $tool here"; exit 0; }
done
[ "$(id -u)" -eq 0 ] || { echo "skip aarch64: only root may make a tree"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf --one-file-system "$dir"' EXIT
tree=${TREE:-$dir/tree}
. "$here/test/support/said.bash"

# The libraries that setup.sh names, of the other machine.
packages=crossbuild-essential-arm64,make,pkg-config,bc
for p in $(sed -n '/^need="/,/"$/p' "$here/board/deploy/setup.sh" | tr -d '"'); do
	case $p in *-dev | liblapack3) packages=$packages,$p:arm64 ;; esac
done
[ -x "$tree/usr/bin/aarch64-linux-gnu-gcc" ] ||
	mmdebstrap --quiet --mode=root --variant=apt --architectures=amd64,arm64 \
		--include="$packages" bookworm "$tree" "$mirror" >"$dir/said" 2>&1 ||
	{ echo "skip aarch64: no tree: $(tail -n 1 "$dir/said")"; exit 0; }

mkdir -p "$tree/build/boreside"
if [ "$(cat "$tree/build/packages" 2>/dev/null)" != "$packages" ]; then # a tree of before
	cp /etc/resolv.conf "$tree/etc/resolv.conf"
	chroot "$tree" sh -c "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install \
		-q -y --no-install-recommends $(echo "$packages" | tr , ' ')" >"$dir/said" 2>&1 ||
		{ echo "skip aarch64: packages: $(tail -n 1 "$dir/said")"; exit 0; }
	echo "$packages" >"$tree/build/packages"
fi
git -C "$here" ls-files -z | tar -C "$here" --null -T - -cf - |
	tar -C "$tree/build/boreside" -xf -
check "boreside and its tests build for aarch64" chroot "$tree" \
	nice make -s -C /build/boreside "-j$(nproc)" cross
built=$tree/build/boreside/build/aarch64-linux-gnu-gcc-gpu0
[ -x "$built/boreside" ] || exit 1

libraries=/usr/lib/aarch64-linux-gnu
arm() { # arm PROGRAM ARGUMENTS...: as on that machine
	qemu-aarch64 -L "$tree" -E "LD_LIBRARY_PATH=$libraries/lapack:$libraries/blas" "$@"
}
check "it is for aarch64" grep -q aarch64 <(od -A n -t x1 -j 18 -N 2 "$built/boreside" |
	sed 's/ b7 00/aarch64/')
check "it says what it is" arm "$built/boreside" version
for method in gridding sense; do
	maps=
	[ $method = gridding ] || maps='maps_file = "scan_maps.cfl";'
	cat >"$dir/$method.cfg" <<END
node: { run_dir = "$dir/run"; cache_dir = ""; threads = 2; };
protocols = ( {
	name = "p"; method = "$method"; matrix = [64, 64]; coils = 4;
	samples = 128; readouts = 101;
	trajectory: { type = "radial2d"; };
	image: { $maps output = "complex"; };
} );
END
	"$BORESIDE" phantom --traj radial2d --matrix 64x64 --coils 4 --readouts 101 \
		-o "$dir/scan.h5" >/dev/null
	check "$method on this machine" "$BORESIDE" recon -c "$dir/$method.cfg" "$dir/scan.h5" \
		-o "$dir/here.cfl"
	check "$method on aarch64" arm "$built/boreside" recon -c "$dir/$method.cfg" \
		"$dir/scan.h5" -o "$dir/there.cfl"
	check "$method is the same, but for round-off" \
		"$BORESIDE" compare "$dir/there.cfl" "$dir/here.cfl" --max-unscaled 1e-4
done

# Unit tests, which start no process: an emulated one cannot. qemu knows no SO_COOKIE, by which
# ipc/guard.c tells connections: tests with nanomsg's endpoints are left out.
mkdir "$dir/tests"
while read -r t; do
	name=${t#"$built"/test/unit/}
	case $name in
	*/test_endpoint | */test_message | */test_front | */test_faults | */test_replay) continue ;;
	esac
	cat >"$dir/tests/${name//\//_}.sh" <<END
exec qemu-aarch64 -L '$tree' -E LD_LIBRARY_PATH=$libraries/lapack:$libraries/blas '$t'
END
done < <(find "$built/test/unit" -name 'test_*' -type f -perm -100 ! -name '*.*' | sort)
cd "$here" && bash test/run.sh "$dir"/tests/*.sh
