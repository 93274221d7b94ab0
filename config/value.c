/* config/value.c - see value.h */
#include "config/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/hint/near.h"
#include "core/thread/cpus.h"

static const char *const type_names[] = {
	[CONFIG_TYPE_NONE] = "nothing",    [CONFIG_TYPE_GROUP] = "a group { }",
	[CONFIG_TYPE_INT] = "an integer",  [CONFIG_TYPE_INT64] = "an integer",
	[CONFIG_TYPE_FLOAT] = "a number",  [CONFIG_TYPE_STRING] = "a string",
	[CONFIG_TYPE_BOOL] = "a boolean",  [CONFIG_TYPE_ARRAY] = "an array [ ]",
	[CONFIG_TYPE_LIST] = "a list ( )",
};

void bs_scope_name(char out[160], const struct bs_scope *s, const char *path)
{
	(void)snprintf(out, 160, "%s%s%.120s", s->label, s->label[0] != '\0' ? "." : "", path);
}

/* A value that is judged: its key, and why it is refused; the caller adds line and key. */
struct judged {
	const struct bs_key *key;
	char text[448];
};
#define WHY(w, ...) ((void)snprintf((w)->text, sizeof((w)->text), __VA_ARGS__), false)

/* Says that x is not whole, and which integers beside it the key accepts. */
static bool not_whole(double x, struct judged *j)
{
	const double low = floor(x);
	const double high = ceil(x);

	if (!(low >= j->key->min && high <= j->key->max))
		return WHY(j, "%g is not an integer; %.0f .. %.0f%s%s is wanted", x, j->key->min,
			   j->key->max, j->key->unit[0] != '\0' ? " " : "", j->key->unit);
	if (low == high)
		return WHY(j, "%g is not an integer: write %.0f", x, low);
	return WHY(j, "%g is not an integer: write %.0f or %.0f", x, low, high);
}

/*
 * Says that a number is wanted. Where a string holds a number that the key accepts, says to write
 * it without quotes.
 */
static bool not_number(const char *wanted, const config_setting_t *v, struct judged *j)
{
	const int type = config_setting_type(v);
	const char *s = type == CONFIG_TYPE_STRING ? config_setting_get_string(v) : NULL;
	char *end = NULL;
	double x;

	if (s == NULL || s[0] == '\0')
		return WHY(j, "%s is wanted, not %s", wanted, type_names[type]);
	x = strtod(s, &end);
	if (*end != '\0' || !(x >= j->key->min && x <= j->key->max) || strlen(s) > 24)
		return WHY(j, "%s is wanted, not a string", wanted);
	return WHY(j, "%s is wanted, not a string: write %s without quotes", wanted, s);
}

static bool get_integer(long long *out, const config_setting_t *v, struct judged *j)
{
	int type = config_setting_type(v);

	if (type == CONFIG_TYPE_FLOAT)
		return not_whole(config_setting_get_float(v), j);
	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return not_number("an integer", v, j);
	*out = type == CONFIG_TYPE_INT ? config_setting_get_int(v) : config_setting_get_int64(v);
	if ((double)*out < j->key->min || (double)*out > j->key->max)
		return WHY(j, "%lld is outside %.0f .. %.0f%s%s", *out, j->key->min, j->key->max,
			   j->key->unit[0] != '\0' ? " " : "", j->key->unit);
	return true;
}

static bool get_number(double *out, const config_setting_t *v, struct judged *j)
{
	int type = config_setting_type(v);

	if (type == CONFIG_TYPE_FLOAT) {
		*out = config_setting_get_float(v);
	} else if (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) {
		long long i = type == CONFIG_TYPE_INT ? config_setting_get_int(v)
						      : config_setting_get_int64(v);

		*out = (double)i;
		if (*out >= 0x1p63 || (long long)*out != i)
			return WHY(j, "%lld is not exact as a floating-point number", i);
	} else {
		return not_number("a number", v, j);
	}
	if (!isfinite(*out))
		return WHY(j, "%g is not finite", *out);
	if (*out < j->key->min || *out > j->key->max)
		return WHY(j, "%g is outside %g .. %g%s%s", *out, j->key->min, j->key->max,
			   j->key->unit[0] != '\0' ? " " : "", j->key->unit);
	return true;
}

static bool get_string(const char **out, const config_setting_t *v, struct judged *j)
{
	int type = config_setting_type(v);
	bool ascii = j->key->type == BS_KEY_TEXT || j->key->type == BS_KEY_URL;

	if (type != CONFIG_TYPE_STRING)
		return WHY(j, "a string is wanted, not %s", type_names[type]);
	*out = config_setting_get_string(v);
	if (*out == NULL)
		*out = "";
	for (const char *p = *out; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f || (ascii && c > 0x7f))
			return WHY(j, "character %zu of the string (0x%02x) is not printable",
				   (size_t)(p - *out) + 1, c);
	}
	return true;
}

static bool get_word(unsigned *index, const char **out, const config_setting_t *v, struct judged *j)
{
	struct bs_near near;
	char hint[BS_NEAR_HINT];
	size_t n = 0;

	if (!get_string(out, v, j))
		return false;
	for (*index = 0; j->key->words[*index] != NULL; ++*index)
		if (strcmp(j->key->words[*index], *out) == 0)
			return true;
	(void)WHY(j, "\"%.60s\" is none of", *out);
	for (unsigned i = 0; j->key->words[i] != NULL; i++) {
		n = strlen(j->text);
		(void)snprintf(j->text + n, sizeof(j->text) - n, "%s \"%s\"", i > 0 ? "," : "",
			       j->key->words[i]);
	}
	bs_near_begin(&near, *out);
	bs_near_offer_all(&near, j->key->words);
	n = strlen(j->text);
	(void)snprintf(j->text + n, sizeof(j->text) - n, "%s", bs_near_hint(&near, hint));
	return false;
}

static bool put_string(char *field, size_t size, const char *s, struct judged *j)
{
	size_t n = strlen(s);

	if (n >= size)
		return WHY(j, "%zu characters are too long, at most %zu", n, size - 1);
	memset(field, 0, size);
	memcpy(field, s, n + 1);
	return true;
}

static bool put_cpus(char *field, size_t size, const char *s, struct judged *j)
{
	struct bs_cpus set;
	struct bs_fail fail;

	if (bs_cpus_parse(&set, s, &fail) != 0)
		return WHY(j, "%s", fail.text);
	return put_string(field, size, s, j);
}

/* Puts folder/path, without ".", ".." and double slashes; folder is absolute and clean. */
static bool put_path(char *field, size_t size, const char *folder, const char *path,
		     struct judged *j)
{
	char out[2 * BS_PATH_MAX_ + 2];
	size_t n = 0;

	if (path[0] == '\0')
		return put_string(field, size, path, j);
	if (strlen(path) >= BS_PATH_MAX_)
		return put_string(field, size, path, j);
	if (path[0] != '/' && strcmp(folder, "/") != 0)
		n = (size_t)snprintf(out, sizeof(out), "%s", folder);
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (n > 0 && out[--n] != '/')
				;
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += *path == '/';
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return put_string(field, size, out, j);
}

/*
 * Puts a URL. An ipc:// path is made absolute; any other URL stays as it is (the rules judge it).
 */
static bool put_url(char *field, size_t size, const char *folder, const char *url, struct judged *j)
{
	char path[BS_PATH_MAX_];
	char out[BS_PATH_MAX_ + 8];

	if (strncmp(url, "ipc://", 6) != 0 || url[6] == '\0')
		return put_string(field, size, url, j);
	if (!put_path(path, sizeof(path), folder, url + 6, j))
		return false;
	(void)snprintf(out, sizeof(out), "ipc://%s", path);
	return put_string(field, size, out, j);
}

/* Puts two or three elements; the third of two is 1 for sizes, 0 for lengths. */
static bool put_three(unsigned char *field, const config_setting_t *v, struct judged *j)
{
	bool sizes = j->key->type == BS_KEY_INT3;
	int n = 0;

	if (!config_setting_is_array(v) && !config_setting_is_list(v)) {
		if (sizes && config_setting_type(v) == CONFIG_TYPE_INT)
			return WHY(j,
				   "an array [x, y] or [x, y, z] is wanted, not an integer: write "
				   "[%d, %d]",
				   config_setting_get_int(v), config_setting_get_int(v));
		return WHY(j, "an array [x, y] or [x, y, z] is wanted, not %s",
			   type_names[config_setting_type(v)]);
	}
	n = config_setting_length(v);
	if (n != 2 && n != 3)
		return WHY(j, "an array of 2 or 3 is wanted, not of %d", n);
	for (int i = 0; i < 3; i++) {
		const config_setting_t *e = i < n ? config_setting_get_elem(v, (unsigned)i) : NULL;
		long long whole = 1;
		double number = 0.0;

		if (e != NULL && sizes && !get_integer(&whole, e, j))
			return false;
		if (e != NULL && !sizes && !get_number(&number, e, j))
			return false;
		if (sizes)
			((uint32_t *)(void *)field)[i] = (uint32_t)whole;
		else
			((float *)(void *)field)[i] = (float)number;
	}
	return true;
}

/* Puts one to BS_DEVICES_MAX numbers, no two alike. */
static bool put_devices(struct bs_devices *field, const config_setting_t *v, struct judged *j)
{
	struct bs_devices d = { 0 };
	long long number = 0;
	int n;

	if (!config_setting_is_array(v) && !config_setting_is_list(v))
		return WHY(j, "an array as [0, 1] is wanted, not %s",
			   type_names[config_setting_type(v)]);
	n = config_setting_length(v);
	if (n < 1 || n > (int)BS_DEVICES_MAX)
		return WHY(j, "an array of 1 to %u is wanted, not of %d", BS_DEVICES_MAX, n);
	for (; d.count < (uint32_t)n; d.count++) {
		if (!get_integer(&number, config_setting_get_elem(v, d.count), j))
			return false;
		for (uint32_t i = 0; i < d.count; i++)
			if (d.device[i] == (uint32_t)number)
				return WHY(j, "%lld is named twice", number);
		d.device[d.count] = (uint32_t)number;
	}
	*field = d;
	return true;
}

/* Puts at least one of the words, none twice. */
static bool put_words(uint32_t *field, const config_setting_t *v, struct judged *j)
{
	const char *s = NULL;
	unsigned index = 0;

	*field = 0;
	if ((!config_setting_is_array(v) && !config_setting_is_list(v)) ||
	    config_setting_length(v) < (j->key->fallback == NULL))
		return WHY(j, "an array as [\"%s\", \"%s\"] is wanted%s", j->key->words[0],
			   j->key->words[1], j->key->fallback == NULL ? ", of one or more" : "");
	for (int i = 0; i < config_setting_length(v); i++) {
		if (!get_word(&index, &s, config_setting_get_elem(v, (unsigned)i), j))
			return false;
		if ((*field & UINT32_C(1) << index) != 0)
			return WHY(j, "\"%s\" is named twice", s);
		*field |= UINT32_C(1) << index;
	}
	return true;
}

static bool put_count(uint32_t field[2], const config_setting_t *v, struct judged *j)
{
	long long whole = 0;

	field[1] = config_setting_type(v) == CONFIG_TYPE_STRING &&
		   strcmp(config_setting_get_string(v), "header") == 0;
	if (field[1] == 0 && config_setting_type(v) == CONFIG_TYPE_STRING)
		return WHY(j, "an integer or \"header\" is wanted, not \"%s\"",
			   config_setting_get_string(v));
	if (field[1] == 0 && !get_integer(&whole, v, j))
		return false;
	field[0] = (uint32_t)whole;
	return true;
}

static bool not_bool(const config_setting_t *v, struct judged *j)
{
	const int type = config_setting_type(v);
	const char *write = "";

	if (type == CONFIG_TYPE_INT && (config_setting_get_int(v) & ~1) == 0)
		write = config_setting_get_int(v) != 0 ? ": write true" : ": write false";
	else if (type == CONFIG_TYPE_STRING && strcmp(config_setting_get_string(v), "true") == 0)
		write = ": write true without quotes";
	else if (type == CONFIG_TYPE_STRING && strcmp(config_setting_get_string(v), "false") == 0)
		write = ": write false without quotes";
	return WHY(j, "true or false is wanted, not %s%s", type_names[type], write);
}

static bool put_value(const struct bs_scope *scope, const config_setting_t *v, struct judged *j)
{
	unsigned char *field = (unsigned char *)scope->base + j->key->offset;
	const char *folder = scope->reading->folder;
	long long whole = 0;
	unsigned index = 0;
	const char *s = NULL;

	switch (j->key->type) {
	case BS_KEY_INT:
		if (!get_integer(&whole, v, j))
			return false;
		*(uint32_t *)(void *)field = (uint32_t)whole;
		return true;
	case BS_KEY_COUNT:
		return put_count((uint32_t *)(void *)field, v, j);
	case BS_KEY_LONG:
		if (!get_integer(&whole, v, j))
			return false;
		*(uint64_t *)(void *)field = (uint64_t)whole;
		return true;
	case BS_KEY_NUMBER:
		return get_number((double *)(void *)field, v, j);
	case BS_KEY_BOOL:
		if (config_setting_type(v) != CONFIG_TYPE_BOOL)
			return not_bool(v, j);
		*(bool *)field = config_setting_get_bool(v) != 0;
		return true;
	case BS_KEY_WORD:
		if (!get_word(&index, &s, v, j))
			return false;
		memcpy(field, &index, sizeof(index));
		return true;
	case BS_KEY_WORD_TEXT:
		return get_word(&index, &s, v, j) && put_string((char *)field, j->key->size, s, j);
	case BS_KEY_WORDS:
		return put_words((uint32_t *)(void *)field, v, j);
	case BS_KEY_TEXT:
		if (!get_string(&s, v, j))
			return false;
		if (s[0] == '\0' &&
		    (j->key->fallback == NULL || strcmp(j->key->fallback, "\"\"") != 0))
			return WHY(j, "must not be empty");
		return put_string((char *)field, j->key->size, s, j);
	case BS_KEY_PATH:
		return get_string(&s, v, j) && put_path((char *)field, j->key->size, folder, s, j);
	case BS_KEY_CPUS:
		return get_string(&s, v, j) && put_cpus((char *)field, j->key->size, s, j);
	case BS_KEY_URL:
		return get_string(&s, v, j) && put_url((char *)field, j->key->size, folder, s, j);
	case BS_KEY_INT3:
	case BS_KEY_NUMBER3:
		return put_three(field, v, j);
	case BS_KEY_DEVICES:
		return put_devices((struct bs_devices *)(void *)field, v, j);
	}
	return WHY(j, "no such type of key");
}

/*
 * Returns the finding of the text's scan in this setting's literal that is not reported yet; NULL:
 * none.
 */
static struct bs_text_spot *spotted(struct bs_text *t, unsigned line, const char *leaf)
{
	unsigned n = t->spots < BS_TEXT_SPOTS ? t->spots : BS_TEXT_SPOTS;

	for (unsigned i = 0; i < n; i++)
		if (!t->spot[i].told && strcmp(t->spot[i].key, leaf) == 0 &&
		    (t->spot[i].key_line == line || t->spot[i].line == line))
			return &t->spot[i];
	return NULL;
}

void bs_value_set(struct bs_scope *s, const struct bs_key *key, const config_setting_t *v)
{
	size_t row = (size_t)(key - bs_keys);
	const char *dot = strrchr(key->path, '.');
	const char *leaf = dot != NULL ? dot + 1 : key->path;
	struct bs_text_spot *spot = spotted(s->reading->text, v->line, leaf);
	char name[160];
	struct judged j = { .key = key };

	bs_scope_name(name, s, key->path);
	s->at[row] = v->line;
	if (spot != NULL) {
		spot->told = true;
		s->bad[row] = true;
		bs_fault(s->reading->faults, spot->line, name, "%s", spot->why);
	} else if (!put_value(s, v, &j)) {
		s->bad[row] = true;
		bs_fault(s->reading->faults, v->line, name, "%s", j.text);
	}
}

int bs_value_default(struct bs_scope *s, const struct bs_key *key, const char *fallback)
{
	char text[512];
	config_t c;
	struct judged j = { .key = key };
	int rc = BS_ERR_CONFIG;

	(void)snprintf(text, sizeof(text), "v = %s;", fallback);
	config_init(&c);
	if (config_read_string(&c, text) == CONFIG_TRUE && put_value(s, config_lookup(&c, "v"), &j))
		rc = 0;
	config_destroy(&c);
	return rc;
}

/* Prints the shortest decimal that reads back to the same bits, as a floating-point literal. */
static void print_number(FILE *to, double v, bool single)
{
	char text[40];

	if (fabs(v) < 1e15 && v == floor(v)) {
		(void)fprintf(to, "%.1f", v);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, v);
		if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	if (strchr(text, '.') != NULL) {
		(void)fputs(text, to);
	} else {
		size_t e = strcspn(text, "e");

		(void)fprintf(to, "%.*s.0%s", (int)e, text, text + e);
	}
}

static void print_string(FILE *to, const char *s)
{
	(void)fputc('"', to);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			(void)fputc('\\', to);
		(void)fputc(*s, to);
	}
	(void)fputc('"', to);
}

void bs_value_print(FILE *to, const struct bs_key *key, const void *base)
{
	const void *field = (const unsigned char *)base + key->offset;
	const uint32_t *n = field;
	const float *x = field;
	const struct bs_devices *d = field;
	unsigned word = 0;

	switch (key->type) {
	case BS_KEY_COUNT:
		if (n[1] != 0) {
			print_string(to, "header");
			break;
		}
		(void)fprintf(to, "%lu", (unsigned long)*n);
		break;
	case BS_KEY_INT:
		(void)fprintf(to, "%lu", (unsigned long)*n);
		break;
	case BS_KEY_LONG:
		(void)fprintf(to, "%lluL", (unsigned long long)*(const uint64_t *)field);
		break;
	case BS_KEY_NUMBER:
		print_number(to, *(const double *)field, false);
		break;
	case BS_KEY_BOOL:
		(void)fputs(*(const bool *)field ? "true" : "false", to);
		break;
	case BS_KEY_WORD:
		memcpy(&word, field, sizeof(word));
		print_string(to, key->words[word]);
		break;
	case BS_KEY_WORD_TEXT:
	case BS_KEY_TEXT:
	case BS_KEY_PATH:
	case BS_KEY_URL:
	case BS_KEY_CPUS:
		print_string(to, field);
		break;
	case BS_KEY_WORDS:
		(void)fputc('[', to);
		for (word = 0; key->words[word] != NULL; word++) {
			if ((*n >> word & 1) == 0)
				continue;
			(void)fputs((*n & ((UINT32_C(1) << word) - 1)) == 0 ? "" : ", ", to);
			print_string(to, key->words[word]);
		}
		(void)fputc(']', to);
		break;
	case BS_KEY_INT3:
		(void)fprintf(to, "[%lu, %lu, %lu]", (unsigned long)n[0], (unsigned long)n[1],
			      (unsigned long)n[2]);
		break;
	case BS_KEY_NUMBER3:
		for (int i = 0; i < 3; i++) {
			(void)fputs(i == 0 ? "[" : ", ", to);
			print_number(to, (double)x[i], true);
		}
		(void)fputc(']', to);
		break;
	case BS_KEY_DEVICES:
		for (uint32_t i = 0; i < d->count; i++)
			(void)fprintf(to, "%s%lu", i == 0 ? "[" : ", ",
				      (unsigned long)d->device[i]);
		(void)fputc(']', to);
		break;
	}
}
