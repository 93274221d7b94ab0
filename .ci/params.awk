# .ci/params.awk - functions that are defined with more than seven parameters: awk -f .ci/code.awk
# -f .ci/params.awk SOURCE... prints FILE:LINE: N parameters of NAME. A function begins with a brace
# in column 1; a macro's arguments before its name (__launch_bounds__) are passed over.
FNR == 1 { head = "" }
{
	code = bare($0)
	if (code ~ /^{/) {
		gsub(/__[a-z_]+__\([^()]*\)/, "", head)
		if (match(head, /[A-Za-z_0-9]+\(/) && count(substr(head, RSTART + RLENGTH)) > 7)
			print FILENAME ":" from ": " n " parameters of " \
			      substr(head, RSTART, RLENGTH - 1)
		head = ""
	} else if (code ~ /^[A-Za-z_]/) {
		head = code
		from = FNR
	} else if (head != "")
		head = head code
	if (code ~ /;[ \t]*$/)
		head = ""
}

# Commas outside parentheses, up to the one that closes the list, and one.
function count(list,   i, depth, sign) {
	n = 1
	for (i = 1; depth >= 0 && i <= length(list); i++) {
		sign = substr(list, i, 1)
		depth += (sign == "(") - (sign == ")")
		n += sign == "," && depth == 0
	}
	return n
}
