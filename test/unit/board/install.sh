#!/bin/bash
# test/unit/board/install.sh - make install and make uninstall in a folder of their own, and make
# hooks in a repository of its own: a commit that is not formatted or does not lint is refused, as
# it is staged.
set -u
: "${BORESIDE:?}"
here=$(cd "$(dirname "$0")/../../.." && pwd)
. "$here/test/support/scratch.bash"
. "$here/test/support/said.bash"

# installs PREFIX: everything below it, and uninstall leaves nothing
installs() {
	local root=$dir/root p=$1
	local unit=$root$p/lib/systemd/system/boreside.service
	check "make install PREFIX=$p" make -s -C "$here" install DESTDIR="$root" PREFIX="$p" \
		EXE="$BORESIDE"
	check "the program is $p/bin/boreside" "$root$p/bin/boreside" --version
	check "the unit starts it" grep -q \
		"^ExecStart=$p/bin/boreside serve -c /etc/boreside/site.cfg$" \
		"$unit"
	check "and checks the site first" grep -q \
		"^ExecStartPre=$p/bin/boreside check /etc/boreside/site.cfg$" \
		"$unit"
	check "and reloads it" grep -q \
		"^ExecReload=$p/bin/boreside reload -c /etc/boreside/site.cfg$" \
		"$unit"
	check "no other prefix in it" refused grep -F "$2" \
		"$unit"
	check "its documentation is there" test -f \
		"$root$(sed -n 's/^Documentation=file://p' "$unit")"
	check "its man pages are there" test -s "$root$p/share/man/man1/boreside-serve.1" -a \
		-s "$root$p/share/man/man5/boreside.cfg.5"
	check "its user is described" grep -q '^u boreside ' "$root$p/lib/sysusers.d/boreside.conf"
	# systemd makes the state directory
	sed "s|/var/lib/boreside|$dir|" \
		"$root$(grep -o "$p/share/doc/boreside/config/site.cfg" "$unit")" >"$dir/site.cfg"
	check "a step is made of the installed header alone" sh -c \
		'cc -I "$1/include" -o "$2/invert" "$1/share/doc/boreside/step/invert.c"' - \
		"$root$p" "$dir"
	check "its site file to begin with is valid" "$BORESIDE" check "$dir/site.cfg"
	check "make uninstall" make -s -C "$here" uninstall DESTDIR="$root" PREFIX="$p"
	check "leaves no file" test -z "$(find "$root" ! -type d)"
	rm -rf "$root"
}
installs /usr/local /opt/
installs /opt/scanner /usr/local
check "make install where nothing was built" refused make -s -C "$here" install \
	DESTDIR="$dir/none" EXE="$dir/none/boreside"
check "installs nothing" test ! -e "$dir/none"

for tool in git clang-format clang-tidy; do
	command -v $tool >/dev/null || { echo "skip make hooks: no $tool here"; exit 0; }
done
repo=$dir/repo
for folder in core config ipc drivers gpu board test/bench test/paper .ci; do
	# as the Makefile looks for them
	mkdir -p "$repo/$folder" && : >"$repo/$folder/.keep"
done
cp "$here/Makefile" "$here/.clang-format" "$here/.clang-tidy" "$repo/"
cp "$here/.ci/pre-commit" "$repo/.ci/"
cd "$repo" || exit 1
git init -q . && git config user.name test && git config user.email test@localhost
commit() { git commit -q -m x 2>&1 | tee "$dir/why"; return "${PIPESTATUS[0]}"; }
check "make hooks" make -s GPU=0 hooks
printf '#include <stdlib.h>\n\nint one(const char *text)\n{\n\treturn atoi(text);\n}\n' >../atoi.c
printf 'int one(void);\n\nint one(void)\n{\n\treturn 1;\n}\n' >../good.c
printf 'int one( void );\n' >../bad.h
cp ../good.c core/one.c
git add .
check "what is formatted and lints is committed" commit
cp ../bad.h core/one.h
git add core
check "a header that is not formatted is refused" refused commit
check "and named" grep -q 'core/one.h' "$dir/why"
printf 'int one(void);\n' >core/one.h
check "it is what is staged that counts" refused commit
git add core
cp ../bad.h core/one.h
check "not what the working tree holds" commit
cp ../atoi.c core/two.c
git add core/two.c
check "a finding of clang-tidy is refused" refused commit
check "and named" grep -q 'core/two.c.*cert-err34-c' "$dir/why"
git rm -q -f --cached core/two.c
cp ../bad.h kernel.cuh
git add kernel.cuh
check "CUDA sources, too" refused commit
