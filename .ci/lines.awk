# .ci/lines.awk - the sums of .ci/lines: awk -v most=N -f .ci/code.awk -f .ci/lines.awk FILE...
{
	if (bare($0) ~ /[^ \t]/)
		lines[FILENAME]++
	if (/^#include "/)
		includes[FILENAME] = includes[FILENAME] " " substr($2, 2, length($2) - 2)
}

function take(f,   i, n, included) {
	if (f in taken)
		return
	taken[f]
	n = split(includes[f], included, " ")
	for (i = 1; i <= n; i++)
		take(included[i])
}

END {
	for (f in lines)
		if (f ~ /\.(c|cu)$/ && f !~ /\/tool\//)
			take(f)
	for (f in lines)
		if (!(f in taken))
			tools += lines[f]
		else if (f ~ /\.cuh?$|_cuda\.h$|\/(cuda|multi)\//)
			cuda += lines[f]
		else
			host += lines[f]
	daemon = host + cuda
	printf "daemon %d lines (host %d, CUDA %d), tools %d, total %d\n", daemon, host, cuda,
	       tools, daemon + tools
	if (daemon > most)
		printf ".ci/lean: the daemon may have %d lines: fewer, or another number there" \
		       " and the reason in the commit\n", most
	else if (daemon < most)
		printf ".ci/lean: has %d: lower it\n", most
	exit daemon > most
}
