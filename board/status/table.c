/* board/status/table.c - see table.h */
#include "board/status/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	double ns;            /* nanoseconds in this unit; 0: not a unit of time */
	double real, seconds; /* factors of a real number: to this unit, to seconds */
} units[BS_UNITS] = {
	[BS_NO_UNIT] = { "", 0.0, 1.0, 1.0 },
	[BS_BYTES] = { .name = "bytes" },
	[BS_S] = { "s", 1e-9, 1.0, 1.0 },
	[BS_MS] = { "ms", 1e-6, 1.0, 1e-3 },
	[BS_US] = { "us", 1e-3, 1.0, 1e-6 },
	[BS_MS_GIVEN] = { "ms", 1e-6, 1.0, 1e-3 },
	[BS_US_OF_MS] = { "us", 1e-3, 1e3, 1e-3 },
	[BS_US_WHOLE] = { .name = "us" },
	[BS_UTC] = { .name = "UTC" },
	[BS_UTC_NS] = { .name = "UTC" },
	[BS_YES] = { .name = "" },
	[BS_SESSION] = { .name = "" },
};

const char *bs_unit_name(const struct bs_row *r)
{
	return units[r->unit].name;
}

static const void *place_of(const struct bs_row *r, const struct bs_item *x)
{
	const char *shared = (const char *)x->m->s;

	switch (r->from) {
	case BS_FROM_VIEW:
		return x->view + r->at;
	case BS_FROM_PLACE:
		return &x->at[x->depth - 1];
	case BS_FROM_FIXED:
		return r->fixed;
	case BS_FROM_SHARED:
		break;
	}
	return shared + r->at + x->at[0] * r->step[0] + x->at[1] * r->step[1];
}

const struct bs_hist *bs_row_hist(const struct bs_row *r, const struct bs_item *x)
{
	const void *at = place_of(r, x);

	return r->type == BS_TYPE_HIST_AT ? *(const struct bs_hist *const *)at : at;
}

static void set_text(struct bs_value *v, const char *text, size_t max)
{
	v->is = BS_IS_TEXT;
	v->text = text;
	v->max = max;
}

static void set_real(struct bs_value *v, double real, double seconds)
{
	v->is = BS_IS_REAL;
	v->real = real;
	v->seconds = seconds;
}

static const char *word_of(const struct bs_row *r, uint64_t n)
{
	const char *const *word = r->words;

	if (r->word != NULL)
		return r->word((uint32_t)n);
	for (; n > 0 && *word != NULL; n--)
		word++;
	return *word != NULL ? *word : "?";
}

/* Shows an integer in its row's unit and words. */
static void show(struct bs_value *v, const struct bs_row *r)
{
	const double n = v->is == BS_IS_SIGNED ? (double)(int64_t)v->n : (double)v->n;

	if (r->less_one && v->n > 0)
		v->n--;
	if (r->word != NULL || r->words != NULL)
		set_text(v, word_of(r, v->n), SIZE_MAX);
	else if (units[r->unit].ns > 0.0)
		set_real(v, n * units[r->unit].ns, n * 1e-9);
	else if (r->unit == BS_YES || r->is != 0) {
		v->is = BS_IS_YES;
		v->n = r->is != 0 ? v->n == r->is : v->n != 0;
	} else if (r->unit == BS_SESSION) {
		set_text(v, v->room, sizeof(v->room));
		(void)snprintf(v->room, sizeof(v->room), "%016" PRIx64, v->n);
	} else if (r->unit == BS_UTC || r->unit == BS_UTC_NS) {
		set_text(v, v->room, sizeof(v->room));
		(void)bs_utc_text(v->room, BS_UTC_ISO,
				  (int64_t)(r->unit == BS_UTC_NS ? v->n / 1000000000 : v->n));
	}
}

static uint64_t load_integer(const void *at, size_t bytes, bool is_signed)
{
	if (bytes == 8)
		return atomic_load((const _Atomic uint64_t *)at);
	return is_signed ? (uint64_t)(int64_t)atomic_load((const _Atomic int32_t *)at)
			 : atomic_load((const _Atomic uint32_t *)at);
}

static void load_value(struct bs_value *v, const struct bs_row *r, const struct bs_item *x)
{
	const void *at = place_of(r, x);

	switch (r->type) {
	case BS_TYPE_COUNT:
	case BS_TYPE_SIGNED:
		v->is = r->type == BS_TYPE_SIGNED ? BS_IS_SIGNED : BS_IS_COUNT;
		v->n = load_integer(at, r->bytes, r->type == BS_TYPE_SIGNED);
		break;
	case BS_TYPE_BOOL:
		v->is = BS_IS_YES;
		v->n = *(const bool *)at;
		break;
	case BS_TYPE_HIST_COUNT:
		v->n = atomic_load(&x->of->count);
		break;
	case BS_TYPE_QUANTILE:
		v->n = bs_hist_quantile(x->of, r->q);
		break;
	case BS_TYPE_REAL:
		set_real(v, *(const double *)at * units[r->unit].real,
			 *(const double *)at * units[r->unit].seconds);
		return;
	case BS_TYPE_CHARS:
		set_text(v, at, r->bytes);
		return;
	case BS_TYPE_STRING:
		set_text(v, *(const char *const *)at, r->bytes);
		return;
	case BS_TYPE_NONE:
	case BS_TYPE_HIST:
	case BS_TYPE_HIST_AT:
		return;
	}
	show(v, r);
}

static bool is_set(const struct bs_row *r, const struct bs_item *x)
{
	struct bs_value v;

	return bs_row_value(&v, r, x);
}

bool bs_row_value(struct bs_value *v, const struct bs_row *r, const struct bs_item *x)
{
	const bool text = r->type == BS_TYPE_CHARS || r->type == BS_TYPE_STRING;

	*v = (struct bs_value){ .is = BS_IS_COUNT };
	if (r->when == NULL || is_set(r->when, x))
		load_value(v, r, x);
	else if (text)
		set_text(v, "", 0);
	return v->is == BS_IS_TEXT ? v->max > 0 && v->text[0] != '\0' : v->n != 0 || v->real != 0.0;
}

void bs_item_top(struct bs_item *x, const struct bs_shm *m, const struct bs_row *top)
{
	*x = (struct bs_item){ .m = m, .row = top };
	if (top->view != NULL)
		(void)top->view(x);
}

uint64_t bs_items(const struct bs_item *up, const struct bs_row *r, uint64_t *first)
{
	const char *shared = (const char *)up->m->s;
	uint64_t n = r->most > 0 ? r->most : 1;

	*first = 0;
	if (r->ring != 0) {
		n = atomic_load((const _Atomic uint64_t *)(shared + r->ring));
		*first = n > r->most ? n - r->most : 0;
	} else if (r->number != 0) {
		const uint32_t there = atomic_load((const _Atomic uint32_t *)(shared + r->number));

		n = there < n ? there : n;
	}
	return n;
}

bool bs_item_open(struct bs_item *x, const struct bs_item *up, const struct bs_row *r, uint64_t n)
{

	x->m = up->m;
	x->up = up;
	x->row = r;
	memcpy(x->at, up->at, sizeof(x->at));
	x->depth = up->depth;
	if (r->most > 0)
		x->at[x->depth++] = (uint32_t)(r->ring != 0 ? n % r->places : n);
	x->of = r->type != BS_TYPE_NONE ? bs_row_hist(r, up) : up->of;
	if (r->view != NULL && !r->view(x))
		return false;
	return r->when == NULL || is_set(r->when, x);
}
