/* board/tool/init/add.c - see add.h */
#include "board/tool/init/add.h"

#include <ctype.h>
#include <string.h>

#include "config/text.h"

/* Skips blanks and comments. */
static const char *skip(const char *p)
{
	for (;;) {
		const char *end;

		p += strspn(p, " \t\r\n");
		if (p[0] == '/' && p[1] == '*') {
			end = strstr(p + 2, "*/");
			p = end != NULL ? end + 2 : p + strlen(p);
		} else if (p[0] == '#' || (p[0] == '/' && p[1] == '/')) {
			p += strcspn(p, "\n");
		} else {
			return p;
		}
	}
}

/* Skips a string, a name, or any one other character. */
static const char *token_end(const char *p)
{
	if (*p == '"') {
		for (p++; *p != '\0' && *p != '"'; p++)
			p += *p == '\\' && p[1] != '\0';
		return p + (*p == '"');
	}
	if (!isalpha((unsigned char)*p))
		return p + 1;
	while (isalnum((unsigned char)*p) || *p == '_' || *p == '-' || *p == '*')
		p++;
	return p;
}

/* Finds the place after the bracket that opens the list of protocols; NULL: no such list. */
static const char *list_of(const char *text)
{
	static const char name[] = "protocols";

	for (const char *p = skip(text); *p != '\0'; p = skip(p)) {
		const char *end = token_end(p);
		const char *next = skip(end);

		if ((size_t)(end - p) == strlen(name) && strncmp(p, name, strlen(name)) == 0 &&
		    (*next == '=' || *next == ':') && *skip(next + 1) == '(')
			return skip(next + 1) + 1;
		p = end;
	}
	return NULL;
}

static bool has(const struct bs_site *site, const char *quoted)
{
	char other[2 * BS_NAME_MAX + 8];

	for (uint32_t i = 0; i < site->protocols; i++)
		if (strcmp(bs_outline_quoted(other, sizeof(other), site->protocol[i].name),
			   quoted) == 0)
			return true;
	return false;
}

void bs_add_name(struct bs_outline *o, const struct bs_site *site)
{
	const char *name = bs_outline_value(o, "name");
	char quoted[2 * BS_NAME_MAX + 16];
	int stem;

	if (name == NULL || !has(site, name))
		return;
	stem = (int)strlen(name) - 1 < (int)BS_NAME_MAX - 8 ? (int)strlen(name) - 1
							    : (int)BS_NAME_MAX - 8;
	for (unsigned n = 2;; n++) {
		(void)snprintf(quoted, sizeof(quoted), "%.*s-%u\"", stem, name, n);
		if (!has(site, quoted))
			break;
	}
	bs_outline_put(o, "name", quoted,
		       "the site has one of the header's name: a sender names it");
}

int bs_add_write(FILE *to, const char *file, const struct bs_outline *o, struct bs_fail *why)
{
	struct bs_text t;
	const char *at;
	int rc = bs_text_read(&t, file, why);

	if (rc != 0)
		return rc;
	at = list_of(t.text);
	if (at == NULL) {
		rc = bs_fail(why, BS_ERR_FORMAT, "%s: no list of protocols", file);
	} else {
		(void)fprintf(to, "%.*s\n", (int)(at - t.text), t.text);
		bs_outline_protocol(to, o);
		(void)fprintf(to, "%s%s", *skip(at) == ')' ? "" : ",", at);
	}
	bs_text_free(&t);
	return rc;
}
