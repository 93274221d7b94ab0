# board/deploy/man/command.awk - the rows of help.awk as the sections of a command's man page.
# name is the command's, summary its line of `boreside help`; behind them rows of the file examples.
function usage(text,   n, i, word) {
	n = split(text, word, / /)
	printf "\\fBboreside %s\\fR", name
	for (i = 3; i <= n; i++)
		printf " %s", word[i] ~ /^-/ ? "\\fB" escape(word[i]) "\\fR" : \
			word[i] ~ /^\[/ ? "[\\fI" escape(substr(word[i], 2, \
			length(word[i]) - 2)) "\\fR]" : "\\fI" escape(word[i]) "\\fR"
	print ""
}
function tag(letter, long, value) {
	print ".TP"
	print (letter == "-" ? "" : "\\fB" escape(letter) "\\fR, ") "\\fB" escape(long) "\\fR" \
		(value == "-" ? "" : " \\fI" escape(value) "\\fR")
}
function options() {
	if (!listing)
		print ".SH OPTIONS"
	listing = 1
}
BEGIN {
	FS = "\t"
	print ".SH NAME"
	put("boreside\\-" escape(name) " \\- " escape(summary))
}
$1 == "usage" { print ".SH SYNOPSIS"; usage($2) }
$1 == "note" {
	if (!noted)
		print ".SH DESCRIPTION"
	noted = 1
	put(escape($2))
}
$1 == "group" { sub(/:$/, "", $2); options(); print ".SS " escape($2) }
$1 == "option" { options(); tag($2, $3, $4); put(escape($5)) }
$1 == "operand" {
	options()
	print ".TP"
	print "\\fI" escape($2) "\\fR"
	put(escape($3))
}
$1 == "after" { after = $2 }
$1 == "example" { call[++calls] = $3; does[calls] = $2 }
END {
	options()
	tag("-h", "--help", "-")
	print "these options"
	if (after != "") {
		print ".SH NOTES"
		put(escape(after))
	}
	for (i = 1; i <= calls; i++) {
		print i == 1 ? ".SH EXAMPLES" : ".PP"
		put(escape(does[i]) ":")
		print ".PP\n.RS 4\n.nf"
		print "\\fB" escape(call[i]) "\\fR"
		print ".fi\n.RE"
	}
}
