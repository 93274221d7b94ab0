#!/bin/bash
# test/package/booted.sh - the first hour of a new user, from the Debian package in a bare Debian 12
# that systemd runs (test/replay/first_hour.sh, with a Python client, a browser and a PACS), and the
# units as systemd runs them: killed, reloaded, apart, upgraded, sealed, removed. Where no systemd
# may be booted the hour runs without one. Minutes, network, root: for .ci/full.
# BORESIDE: the program.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/test/package/tree.bash"

# What a site has; what the network does not give is skipped by the hour itself.
make_tree "a booted Debian" systemd-sysv,dbus
package boreside "$BORESIDE"
inside apt-get update -q >"$dir/said" 2>&1
inside apt-get install -q -y --no-install-recommends orthanc dcmtk chromium python3-venv \
	ca-certificates >"$dir/said" 2>&1 || echo "# a site's software: $(tail -n 1 "$dir/said")"
[ ! -f /etc/ssl/certs/ca-certificates.crt ] ||
	cp /etc/ssl/certs/ca-certificates.crt "$tree/root/authorities.crt"
inside python3 -m venv /opt/client >"$dir/said" 2>&1 &&
	inside /opt/client/bin/pip install -q --cert /root/authorities.crt ismrmrd \
		>"$dir/said" 2>&1 || echo "# a Python client: $(tail -n 1 "$dir/said")"
check "what the package depends on is downloaded" inside apt-get install -q -y --download-only \
	--no-install-recommends /root/boreside.deb
mkdir -p "$tree/opt/boreside/test"
cp -r "$here/test/replay" "$here/test/support" "$tree/opt/boreside/test"
hour() { # hour IN VARIABLE=VALUE...: its checks are this test's
	local in=$1
	shift
	$in env PYTHON=/opt/client/bin/python "$@" bash /opt/boreside/test/replay/first_hour.sh |
		sed 's/^\(ok\|not ok\|skip\) /\1 the first hour: /'
}
if ! power_on; then
	echo "skip units under systemd: $(tail -n 1 "$dir/said")"
	check "the package is installed" inside apt-get install -q -y --no-install-recommends \
		/root/boreside.deb
	hour inside BORESIDE=/usr/bin/boreside
	exit
fi
hour booted DEB=/root/boreside.deb

# The units, as systemd runs them: with a page and a bridge as users of their own
. "$here/test/support/await.bash"
site=/etc/boreside/site.cfg
property() { booted systemctl show --value -p "$2" "$1"; }
active() { [ "$(property "$1" ActiveState)" = active ]; }
well() { [ "$(property "$1" Result)" = success ]; }
another() { # another MAIN: the service has another main process
	local now
	now=$(property boreside MainPID)
	[ "$now" != 0 ] && [ "$now" != "$1" ]
}
page() { # over HTTP, by bash alone
	booted bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080 && printf "GET /status.json HTTP/1.0\r\n\
Host: localhost\r\n\r\n" >&3 && timeout 20 cat <&3' | grep -q '"answers": *true'
}
bridged() { booted journalctl -o cat -u boreside-bridge | grep -q 'may connect to 127.0.0.1:9002'; }
scan() { booted boreside replay -c $site --asap $patience /root/scan.h5; }
ready() { booted boreside status -c $site $ready; }

booted boreside phantom --traj cartesian --matrix 64,48 --coils 4 --name units \
	-o /root/scan.h5 >"$dir/said" 2>&1
check "a site file with a bridge" booted boreside init --from /root/scan.h5 --system --force \
	--mrd 9002 -o /etc/boreside/bridge.cfg
check "one without" booted boreside init --from /root/scan.h5 --system --force -o $site
check "the service starts" booted systemctl start boreside
check "so do page and bridge, apart" booted systemctl start boreside-web boreside-bridge
check "the service is ready" ready
await page
check "the page has the service's status" page
await bridged
check "the bridge takes clients" bridged
check "a scan goes through the service" scan
first=$(property boreside MainPID)
check "it takes up its site file" booted systemctl reload boreside
check "by the same process" test "$first" = "$(property boreside MainPID)"
booted systemctl kill -s KILL --kill-whom=main boreside
await another "$first"
check "when it is killed systemd starts another" another "$first"
check "which is ready" ready
check "and takes a scan" scan
for unit in boreside-web boreside-bridge; do
	first=$(property $unit MainPID)
	check "$unit still runs" active $unit
	[ "$(booted stat -c %U "/proc/$first")" = boreside ] &&
		echo "not ok $unit runs as the service's user" ||
		echo "ok $unit runs as a user of its own"
done
first=$(property boreside MainPID)
check "the package is installed again" booted apt-get install -q -y --reinstall \
	/root/boreside.deb
await another "$first"
check "and the service with it" another "$first"
check "its site file is as it was" booted grep -q '"units"' $site
check "it is ready" ready
check "it is stopped" booted systemctl stop boreside
check "and ended well" well boreside
check "it starts again" booted systemctl start boreside
# Sealed: each unit has from systemd a key of its own, and the node's commands are its user's
credential() { # credential UNIT WHO: its key, and its public one in $key
	key=$(booted boreside key new "/etc/boreside/$2.key")
	booted mkdir -p "/etc/systemd/system/$1.service.d" &&
		printf '[Service]\nLoadCredential=key:/etc/boreside/%s.key\n' "$2" |
		booted tee "/etc/systemd/system/$1.service.d/key.conf" >"$dir/said"
}
sealed() { # sealed FILE: its endpoints over tcp, and who may come
	booted sed -i 's|^endpoints: .*|endpoints: { archive = ""; \
kspace = "tcp://127.0.0.1:5570"; images = "tcp://127.0.0.1:5571"; \
status = "tcp://127.0.0.1:5572"; };|' "$1" &&
		booted tee -a "$1" >"$dir/said" <<END
keys: { own = "/run/credentials/boreside.service/key"; service = "$node"; peers = (
	{ name = "bridge.mrd"; key = "$bridge"; roles = [ "scanner", "archive" ]; },
	{ name = "page"; key = "$key"; roles = [ "status", "viewer" ]; } ); };
web: { key = "/run/credentials/boreside-web.service/key"; };
END
}
booted systemctl stop boreside-web boreside-bridge boreside
credential boreside node
node=$key
credential boreside-bridge bridge
bridge=$key
credential boreside-web page
check "endpoints over tcp, with keys" sealed $site
check "the bridge's, too" sealed /etc/boreside/bridge.cfg
booted sed -i 's|^bridges: { mrd: {|&\n\tkey = "/run/credentials/boreside-bridge.service/key";|' \
	/etc/boreside/bridge.cfg
booted systemctl daemon-reload
since=$(booted date +%s) # what a bridge without a key said is older
check "the service starts with its credential" booted systemctl start boreside
check "page and bridge, with their credentials" booted systemctl start boreside-web boreside-bridge
own() { booted setpriv --reuid=boreside --regid=boreside --clear-groups boreside "$@"; }
check "its user's commands have its key" own status -c $site $ready
await page
check "the page has its status through the seal" page
bridged() { booted journalctl -o cat --since "@$since" -u boreside-bridge |
	grep -q 'may connect to 127.0.0.1:9002'; }
await bridged
check "the bridge takes clients" bridged
booted install -m 644 /root/scan.h5 /var/lib/boreside/scan.h5
check "a scan goes through sealed k-space" own replay -c $site --asap $patience \
	/var/lib/boreside/scan.h5
check "another user reads no key" refused booted setpriv --reuid=nobody --regid=boreside \
	--clear-groups cat /etc/boreside/page.key
check "apt removes it" booted apt-get remove -q -y boreside
for unit in boreside boreside-web boreside-bridge; do
	check "$unit was stopped before that" refused active $unit
done
