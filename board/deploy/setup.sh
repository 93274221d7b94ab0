#!/bin/sh
# board/deploy/setup.sh - installs what Boreside needs to build and test, on Debian 12 and its
# relatives. Says what it installs, uses sudo when not root, does nothing when all is there. CUDA is
# not installed here: the GPU parts build where nvcc is found.
set -eu
need="gcc make pkg-config bc libnanomsg-dev libconfig-dev libhdf5-dev libismrmrd-dev libexpat1-dev
      libjansson-dev libmicrohttpd-dev libpng-dev libsystemd-dev liblapack3
      libsodium-dev libniftiio-dev libnifti2-dev libznz-dev dcmtk openmpi-bin"
[ $# -eq 0 ] || need="$need $*" # further packages, named by the caller (.ci/run: clang, ...)
missing=
for p in $need; do
	dpkg-query -W -f='${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed' ||
		missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: this needs the packages:$missing (no apt-get here; install them by hand)" >&2
	exit 1
fi
echo "setup: installing$missing"
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update -q >/dev/null
# shellcheck disable=SC2086  # the list is meant to be split
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing \
	>/dev/null
echo "setup: done"
