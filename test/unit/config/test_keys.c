/*
 * test/unit/config/test_keys.c - the table, the structs, the printed site and the documentation say
 * the same
 */
#define _GNU_SOURCE /* open_memstream, memmem, mkdtemp */
#include "config/tool/keypage.h"
#include "config/value.h"
#include "core/traj/traj.h"
#include "test/support/site_file.h"

static struct bs_site again;

static void print_to(char **text, const struct bs_key *key, const void *base)
{
	size_t n = 0;
	FILE *f = open_memstream(text, &n);

	if (f == NULL)
		abort();
	bs_value_print(f, key, base);
	(void)fclose(f);
}

/* Value of the key in element i of its scope; NULL: no such element. */
static const void *element(const struct bs_site *s, enum bs_key_scope scope, unsigned i)
{
	if (scope == BS_SCOPE_SITE)
		return i == 0 ? s : NULL;
	if (scope == BS_SCOPE_ANSWER)
		return i < s->answers ? &s->answer[i] : NULL;
	if (scope == BS_SCOPE_STEP)
		return i < s->steps ? &s->step[i] : NULL;
	if (scope == BS_SCOPE_SINK)
		return i < s->sinks ? &s->sink[i] : NULL;
	if (scope == BS_SCOPE_CONFIG)
		return i < s->mrd.configs ? &s->mrd.config[i] : NULL;
	if (scope == BS_SCOPE_PEER)
		return i < s->keys.peers ? &s->keys.peer[i] : NULL;
	return i < s->protocols ? &s->protocol[i] : NULL;
}

static void round_trip(void)
{
	static struct bs_site plain;
	char *text = NULL;
	size_t n = 0;
	FILE *f = NULL;
	int rc = 0;

	if (load(&plain,
		 PROTOCOL("") "bridges: { mrd: { configs = ( { name = \"n\"; } ); }; };"
			      "sinks = ( { type = \"png\"; dir = \"x\"; } );"
			      "steps = ( { name = \"n\"; on = \"p\"; budget_ms = 1.0; } );"
			      "answers = ( { on = \"p\"; what = \"phase\"; deadline_ms = 1.0; } );"
			      "keys: { own = \"o\"; peers = ( { name = \"n\";"
			      " roles = [\"viewer\"]; key = "
			      "\"0000000000000000000000000000000000000000000=\"; } ); };") != 0 ||
	    load(&site, every) != 0) {
		CHECK(0, "every key can be given: %s", told);
		return;
	}
	for (size_t i = 0; i < bs_keys_count; i++) {
		const struct bs_key *key = &bs_keys[i];
		bool differs = false;
		char *was = NULL;

		print_to(&was, key, element(&plain, key->scope, 0));
		for (unsigned e = 0; element(&site, key->scope, e) != NULL; e++) {
			char *is = NULL;

			print_to(&is, key, element(&site, key->scope, e));
			differs = differs || strcmp(is, was) != 0;
			free(is);
		}
		CHECK(differs, "%s reaches its field (without it %s)", key->path, was);
		free(was);
	}
	f = open_memstream(&text, &n);
	if (f == NULL)
		abort();
	bs_config_print(f, &site);
	(void)fclose(f);
	rc = load(&again, text);
	CHECK(rc == 0 && memcmp(&site, &again, sizeof(site)) == 0,
	      "the resolved site reads back to the same bytes: %s", told);
	free(text);
	CHECK(site.protocol[1].traj.seed == UINT64_C(9007199254740993), "a seed beyond a double");
	CHECK(site.protocol[0].fov_mm[0] == 256.1f, "a float to the nearest");
	CHECK(strcmp(site.name, "n\"\\") == 0, "quotes and backslashes");
	CHECK(site.protocol[1].density == BS_DENSITY_NONE, "ls weighs nothing by default");
}

/* No byte of the struct but padding is without a row; given: bytes that the loader fills itself. */
static void covered(const char *what, enum bs_key_scope scope, unsigned char *padding, size_t size,
		    const size_t given[][2], size_t gaps)
{
	unsigned char *seen = calloc(1, size);
	size_t bare = 0;

	if (seen == NULL)
		abort();
	for (size_t i = 0; i < bs_keys_count; i++)
		for (size_t b = 0; bs_keys[i].scope == scope && b < bs_keys[i].size; b++)
			seen[bs_keys[i].offset + b]++;
	for (size_t g = 0; g < gaps; g++)
		for (size_t b = 0; b < given[g][1]; b++)
			seen[given[g][0] + b]++;
	for (size_t b = 0; b < size; b++) {
		if (seen[b] > 1)
			CHECK(0, "byte %zu of %s has %u rows", b, what, seen[b]);
		bare += seen[b] == 0 && padding[b] != 0;
	}
	CHECK(bare == 0, "every field of %s has one row (%zu bytes have none)", what, bare);
	free(seen);
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define HAVE_PADDING 1
#endif
#endif

static void fields(void)
{
#ifdef HAVE_PADDING
	static struct bs_protocol p;
	static struct bs_sink_spec k;
	static struct bs_step_spec step;
	static struct bs_answer_spec answer;
	static struct bs_peer_spec e;
	static const size_t sites[][2] = {
		/* each protocol has the site's */
		{ offsetof(struct bs_protocol, gpu_memory), sizeof(p.gpu_memory) },
		{ offsetof(struct bs_protocol, gpu_devices), sizeof(p.gpu_devices) },
		{ offsetof(struct bs_protocol, gpu_share), sizeof(p.gpu_share) },
		{ offsetof(struct bs_protocol, gpu_route), sizeof(p.gpu_route) },
		/* what the site's step on it says */
		{ offsetof(struct bs_protocol, step),
		  offsetof(struct bs_protocol, plan) - offsetof(struct bs_protocol, step) },
		/* follows from what other keys ask for */
		{ offsetof(struct bs_protocol, uses), sizeof(p.uses) },
		/* the second half of readouts */
		{ offsetof(struct bs_protocol, by_header), sizeof(p.by_header) },
		/* what all of it comes to, and the padding behind it */
		{ offsetof(struct bs_protocol, plan),
		  sizeof(p) - offsetof(struct bs_protocol, plan) },
	};
	static const size_t own[][2] = {
		{ offsetof(struct bs_site, file), sizeof(site.file) },
		/* padding, of which gcc 12 clears the wrong bytes here */
		{ offsetof(struct bs_site, gpu_shared) + 1,
		  offsetof(struct bs_site, mrd) - offsetof(struct bs_site, gpu_shared) - 1 },
		{ offsetof(struct bs_site, realtime.canary) + 1,
		  offsetof(struct bs_site, sink) - offsetof(struct bs_site, realtime.canary) - 1 },
		{ offsetof(struct bs_site, mrd.config),
		  sizeof(site.mrd) - offsetof(struct bs_mrd_site, config) },
		{ offsetof(struct bs_site, sink), sizeof(site.sink) },
		{ offsetof(struct bs_site, sinks),
		  offsetof(struct bs_site, keys) - offsetof(struct bs_site, sinks) },
		{ offsetof(struct bs_site, keys.peer),
		  offsetof(struct bs_site, protocol) - offsetof(struct bs_site, keys.peer) },
		{ offsetof(struct bs_site, protocol), sizeof(site.protocol) },
		/* and the padding behind it */
		{ offsetof(struct bs_site, protocols),
		  sizeof(site) - offsetof(struct bs_site, protocols) },
	};

	memset(&p, 0xff, sizeof(p));
	memset(&k, 0xff, sizeof(k));
	memset(&step, 0xff, sizeof(step));
	memset(&answer, 0xff, sizeof(answer));
	memset(&e, 0xff, sizeof(e));
	memset(&site, 0xff, sizeof(site));
	__builtin_clear_padding(&p);
	__builtin_clear_padding(&k);
	__builtin_clear_padding(&step);
	__builtin_clear_padding(&answer);
	covered("struct bs_protocol", BS_SCOPE_PROTOCOL, (unsigned char *)&p, sizeof(p), sites,
		sizeof(sites) / sizeof(sites[0]));
	covered("struct bs_sink_spec", BS_SCOPE_SINK, (unsigned char *)&k, sizeof(k), NULL, 0);
	covered("struct bs_step_spec", BS_SCOPE_STEP, (unsigned char *)&step, sizeof(step), NULL,
		0);
	covered("struct bs_answer_spec", BS_SCOPE_ANSWER, (unsigned char *)&answer, sizeof(answer),
		NULL, 0);
	covered("struct bs_peer_spec", BS_SCOPE_PEER, (unsigned char *)&e, sizeof(e), NULL, 0);
	covered("struct bs_site", BS_SCOPE_SITE, (unsigned char *)&site, sizeof(site), own,
		sizeof(own) / sizeof(own[0]));
#else
	(void)covered;
	SKIP("fields without a row: this compiler cannot tell padding");
#endif
}

/* The item that begins here ends with these words, whatever its lines are. */
static bool says(const char *item, const char *help)
{
	const char *end = item + strcspn(item, "\n");
	const char *h = help + strlen(help);

	while (h > help && end > item) {
		if (end[-1] == '\f') {
			end -= end >= item + 3 && end[-3] == '\f' ? 3 : 1;
			h -= h[-1] == ' ';
			continue;
		}
		if (*--h != *--end)
			return false;
	}
	return h == help && end - item > 2 && end[-1] == ' ' && end[-2] == ':';
}

static void documentation(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (f == NULL)
		abort();
	bs_config_print_keys(f);
	(void)fclose(f);
	for (char *p = text; *p != '\0'; p++) /* an item may go on in another line */
		if (p[0] == '\n' && p[1] == ' ' && p[2] == ' ')
			p[0] = p[1] = p[2] = '\f';
	for (size_t i = 0; i < bs_keys_count; i++) {
		char start[160];
		char help[2048];
		const char *row;
		size_t len = 0;

		for (const char *h = bs_keys[i].help; *h != '\0' && len + 1 < sizeof(help); h++)
			help[len++] = *h;
		help[len] = '\0';
		(void)snprintf(start, sizeof(start), "\n- `%s` (", bs_keys[i].path);
		/* a path may stand in two scopes */
		for (row = strstr(text, start); row != NULL; row = strstr(row + 1, start))
			if (says(row + 1, help))
				break;
		CHECK(row != NULL, "%s is documented", bs_keys[i].path);
	}
	free(text);
}

int main(void)
{
	open_folder();
	round_trip();
	fields();
	documentation();
	close_folder();
	return check_done();
}
