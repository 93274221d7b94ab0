# .ci/rings.awk - rings of files that call each other, by the functions bs_... that one defines and
# another calls: awk -f .ci/code.awk -f .ci/rings.awk .ci/rings SOURCE... prints each file that is
# in a ring which .ci/rings does not have, and each that .ci/rings has and is in a ring no more.
FILENAME == ARGV[1] {
	if ($1 ~ /^[^#]/)
		known[$1] = group
	else
		group = FNR
	next
}
FNR == 1 { head = "" }
{
	code = bare($0)
	if (code ~ /^{/ && head !~ /^static/ && match(head, /bs_[A-Za-z0-9_]*\(/)) {
		name = substr(head, RSTART, RLENGTH)
		homes[name] += home[name] != FILENAME
		home[name] = FILENAME
	}
	head = code ~ /^[A-Za-z_]/ ? code : code ~ /^[ \t]/ ? head code : ""
	while (match(code, /bs_[A-Za-z0-9_]*\(/)) {
		name = substr(code, RSTART, RLENGTH)
		if (!((FILENAME, name) in seen)) {
			seen[FILENAME, name]
			calls[FILENAME] = calls[FILENAME] " " name
		}
		code = substr(code, RSTART + RLENGTH)
	}
}

# Tarjan's: the files that are reached from one and reach it.
function visit(f,   i, n, g, name) {
	low[f] = index_of[f] = ++count
	stack[++depth] = f
	on[f] = 1
	n = split(calls[f], name, " ")
	for (i = 1; i <= n; i++) {
		g = home[name[i]]
		if (homes[name[i]] != 1 || g == f)
			continue
		if (!(g in index_of))
			visit(g)
		if (on[g] && low[g] < low[f])
			low[f] = low[g]
	}
	if (low[f] == index_of[f])
		ring_from(f)
}

function ring_from(f,   first, i, of) {
	for (first = depth; stack[first] != f; first--)
		;
	for (i = first; i <= depth; i++) {
		on[stack[i]] = 0
		if (first == depth)
			continue
		in_ring[stack[i]]
		if (stack[i] in known && (!of || of == known[stack[i]]))
			of = known[stack[i]]
		else
			print stack[i] ": calls files that call it: a ring of " depth - first + 1
	}
	depth = first - 1
}

END {
	for (f in calls)
		if (!(f in index_of))
			visit(f)
	for (f in known)
		if (!(f in in_ring))
			print f ": is in no ring of calls any more: strike it out in .ci/rings"
}
