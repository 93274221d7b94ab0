/* board/tool/json.c - see json.h */
#include "board/tool/json.h"

#include <stdlib.h>
#include <string.h>

static const char *blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Where the string that begins at p ends, behind its quote; NULL: it does not. */
static const char *behind_string(const char *p)
{
	for (p++; *p != '"'; p++)
		if (*p == '\0' || (*p == '\\' && *++p == '\0'))
			return NULL;
	return p + 1;
}

/* Where the value that begins at p ends; NULL: the text ends before. */
static const char *behind(const char *p)
{
	size_t depth = 0;

	do {
		if (*p == '"') {
			p = behind_string(p);
			if (p == NULL)
				return NULL;
			continue;
		}
		if (*p == '\0')
			return NULL;
		if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			if (depth == 0)
				return p;
			depth--;
			p++;
		} else if (depth > 0) {
			p++;
		} else {
			return p + strcspn(p, ",]} \t\r\n");
		}
	} while (depth > 0);
	return p;
}

const char *bs_json_member(const char *object, const char *key, size_t *len)
{
	size_t n = strlen(key);
	const char *p;

	if (object == NULL || *object != '{')
		return NULL;
	p = blanks(object + 1);
	while (*p == '"') {
		const char *name = p + 1;
		const char *value;
		const char *end;

		p = behind_string(p);
		if (p == NULL)
			return NULL;
		bool same = (size_t)(p - 1 - name) == n && memcmp(name, key, n) == 0;

		p = blanks(p);
		if (*p != ':')
			return NULL;
		value = blanks(p + 1);
		end = behind(value);
		if (end == NULL)
			return NULL;
		if (same) {
			*len = (size_t)(end - value);
			return value;
		}
		p = blanks(end);
		if (*p == ',')
			p = blanks(p + 1);
	}
	return NULL;
}

bool bs_json_number(const char *object, const char *key, double *value)
{
	size_t len;
	const char *at = bs_json_member(object, key, &len);
	char *end;
	double v;

	if (at == NULL || *at == '"')
		return false;
	v = strtod(at, &end);
	if (end == at)
		return false;
	*value = v;
	return true;
}

void bs_json_text(const char *object, const char *key, char *out, size_t cap)
{
	size_t len = 0;
	const char *at = bs_json_member(object, key, &len);
	size_t n = 0;

	if (at != NULL && *at == '"')
		for (size_t i = 1; i + 1 < len && n + 1 < cap; i++) {
			if (at[i] == '\\')
				i++;
			out[n++] = at[i];
		}
	if (cap > 0)
		out[n] = '\0';
}

static const char *element(const char *p, size_t *len)
{
	const char *end;

	p = blanks(p);
	if (*p == ']' || *p == '\0')
		return NULL;
	end = behind(p);
	if (end == NULL)
		return NULL;
	*len = (size_t)(end - p);
	return p;
}

const char *bs_json_first(const char *array, size_t *len)
{
	return array != NULL && *array == '[' ? element(array + 1, len) : NULL;
}

const char *bs_json_next(const char *at, size_t *len)
{
	const char *p = blanks(at + *len);

	return *p == ',' ? element(p + 1, len) : NULL;
}
