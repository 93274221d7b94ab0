# test/package/tree.bash - sourced by the tests of packages: a bare Debian 12 made for the test, and
# systemd booted in it as process 1 of namespaces of its own, which have no network but loopback
#
# dir is a folder to work in; tree the Debian. Root's, and removed at the end. MIRROR: of packages.
mirror=${MIRROR:-http://deb.debian.org/debian}
dir=$(mktemp -d)
tree=$dir/tree
server= machine= cgroup=
end_tree() {
	[ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null
	power_off
	umount "$tree/proc" 2>/dev/null
	rm -rf --one-file-system "$dir"
}
trap end_tree EXIT
. "$here/test/support/said.bash"
skipped() { # skipped WHAT WHY: the whole test ends
	echo "skip $1: $2"
	exit 0
}
clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
inside() { chroot "$tree" "${clean[@]}" "$@"; }

# make_tree WHAT [PACKAGE,...]: or WHAT is skipped
make_tree() {
	for tool in mmdebstrap dh; do
		command -v $tool >/dev/null || skipped "$1" "no $tool here"
	done
	[ "$(id -u)" -eq 0 ] || skipped "$1" "only root may make one"
	mmdebstrap --quiet --mode=root --variant=apt ${2:+--include="$2"} bookworm "$tree" \
		"$mirror" >"$dir/said" 2>&1 || skipped "$1" "$(tail -n 1 "$dir/said")"
	mount -t proc proc "$tree/proc" 2>/dev/null || skipped "$1" "no /proc may be mounted"
	cp /etc/resolv.conf "$tree/etc/resolv.conf"
}

# package NAME PROGRAM: $tree/tmp/boreside.deb, of what make has built
package() {
	DEB_BUILD_OPTIONS=noautodbgsym check "the package is built" \
		sh "$here/board/deploy/debian/build.sh" "$1" "$2" "$dir/out"
	deb=$(tail -n 1 "$dir/said")
	[ -f "$deb" ] || exit 1
	cp "$deb" "$tree/root/boreside.deb"
}

# power_on: 0 when systemd runs in the tree; $dir/said has why not
power_on() {
	local end=$((SECONDS + 300)) state
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$cgroup" ] || { echo "no cgroup2" >"$dir/said"; return 1; }
	cgroup=$cgroup/boreside-test-$$
	mkdir "$cgroup" 2>"$dir/said" || { cgroup= && return 1; }
	# shellcheck disable=SC2016 # the other shell's
	(
		echo "$BASHPID" >"$cgroup/cgroup.procs" &&
			exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup \
				bash -euc '
cd "$1"
umount proc
mount --rbind . .
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for at in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs $at; done
chmod 1777 tmp
umask 0
mkdir dev/shm dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
mknod dev/null c 1 3
mknod dev/zero c 1 5
mknod dev/full c 1 7
mknod dev/random c 1 8
mknod dev/urandom c 1 9
mknod dev/tty c 5 0
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
pivot_root . mnt
umount -l mnt
mount --make-rshared / # as a boot leaves it: what systemd mounts for a unit is seen
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --log-target=null --show-status=0' - "$tree"
	) </dev/null >"$dir/said" 2>&1 &
	machine=$!
	while kill -0 $machine 2>/dev/null && [ $SECONDS -lt $end ]; do
		state=$(booted systemctl is-system-running 2>/dev/null)
		case $state in running | degraded) return 0 ;; esac
		sleep 0.2
	done
	echo "systemd: ${state:-ended}: $(tail -n 1 "$dir/said")" >"$dir/why"
	mv "$dir/why" "$dir/said"
	power_off
	return 1
}
booted() { # booted COMMAND...: in the running machine
	local first
	read -r first 2>/dev/null <"/proc/$machine/task/$machine/children"
	nsenter -t "${first:-none}" -a "${clean[@]}" "$@"
}
power_off() {
	[ -z "$machine" ] || { kill -KILL "$machine"; wait "$machine"; } 2>/dev/null
	[ -z "$cgroup" ] || for _ in $(seq 100); do # its processes end in their own time
		find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
		[ -d "$cgroup" ] || break
		sleep 0.1
	done
	machine= cgroup=
}
