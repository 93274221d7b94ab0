#!/bin/bash
# test/package/bare.sh - the Debian package installed in a bare Debian 12 made for it: what apt and
# systemd say of it, a scan as the service's user, and the package removed again. Minutes, network,
# root: for .ci/full. BORESIDE: the program. MIRROR: of Debian's packages.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/test/package/tree.bash"
# as the unit does: user, group and umask of the service
served() { inside setpriv --reuid=boreside --regid=boreside --clear-groups "$@"; }

make_tree "a bare Debian"
package boreside "$BORESIDE"
check "apt knows Debian's packages" inside apt-get update -q
check "apt installs it" inside apt-get install -q -y --no-install-recommends /root/boreside.deb
[ -x "$tree/usr/bin/boreside" ] || exit 1
check "nothing is left half done" inside sh -c 'test -z "$(dpkg --audit)"'
check "its files are as they were packed" inside dpkg --verify boreside
check "the program finds its libraries" inside boreside --version
check "its user is there" inside id boreside
check "with no shell" inside sh -c 'getent passwd boreside | grep -q ":/usr/sbin/nologin$"'
if [ -x "$tree/usr/bin/systemd-analyze" ]; then
	for unit in "$tree"/lib/systemd/system/boreside*.service; do
		check "systemd takes ${unit##*/}" inside systemd-analyze verify --man=no \
			"/lib/systemd/system/${unit##*/}"
	done
	check "and does not start the service by itself" \
		refused inside systemctl is-enabled boreside
fi

# what the unit makes
for folder in run cache lib; do
	[ $folder = run ] && at=/run/boreside || at=/var/$folder/boreside
	inside install -d -m 750 -o boreside -g boreside $at
done
inside sed -i 's|image_ms = 100.0;|image_ms = 100.0; admission = "trust";|' /etc/boreside/site.cfg
site=/etc/boreside/site.cfg
check "its site file is valid" served boreside check $site
check "a scan is made" served boreside phantom -c $site -p radial_2d --repetitions 2 \
	-o /var/lib/boreside/scan.h5
served boreside serve -c $site 2>"$dir/serve.log" &
server=$!
for _ in $(seq 120); do
	served boreside status -c $site --wait 1 >"$dir/said" 2>&1 && break
	kill -0 $server 2>/dev/null || break
done
check "the service is ready" served boreside status -c $site --wait 1
check "a scan goes through it" served boreside replay -c $site -p radial_2d --asap \
	/var/lib/boreside/scan.h5
check "and ends with it" served boreside drain -c $site
check "the image is right" served sh -c 'cd /var/lib/boreside && set -- images/*.h5 &&
	boreside compare "$1" scan_true.cfl --max-nrmse 0.3'
wait $server
server=

check "apt removes it" inside apt-get remove -q -y boreside
check "the changed site file stays" test -f "$tree$site"
check "apt purges it" inside apt-get purge -q -y boreside
check "the site file is gone" test ! -e "$tree$site"
check "what it kept of scans stays" test -d "$tree/var/lib/boreside/images"
