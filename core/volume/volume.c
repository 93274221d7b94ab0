/* core/volume/volume.c - see volume.h */
#include "core/volume/volume.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/frame/open.h"
#include "core/text.h"

/* ---- memory ---- */

/*
 * One volume more than frames of a slice may be open, because an earlier frame ends with a later
 * one.
 */
static uint32_t places_of(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_JOIN) ? p->contrasts * (bs_protocol_lanes(p) + 1) : 0;
}

static void take_room(struct bs_room *r, struct bs_volumes *v, unsigned char **pixels,
		      const struct bs_protocol *p)
{
	const uint64_t places = places_of(p);

	bs_room_take(r, &v->at, "volumes", 1, places * sizeof(*v->at));
	bs_room_take(r, pixels, "slices to join", places * p->slices, bs_protocol_image_bytes(p));
}

void bs_volumes_need(const struct bs_protocol *p, struct bs_need *need)
{
	struct bs_room room = { .need = need };
	struct bs_volumes v;
	unsigned char *pixels;

	take_room(&room, &v, &pixels, p);
}

int bs_volumes_arm(struct bs_volumes *v, const struct bs_protocol *p, struct bs_arena *arena,
		   struct bs_fail *why)
{
	struct bs_room room = { .arena = arena };
	unsigned char *pixels;

	*v = (struct bs_volumes){ .p = p, .places = places_of(p) };
	v->slice_bytes = (size_t)bs_slot(bs_protocol_image_bytes(p));
	take_room(&room, v, &pixels, p);
	if (room.full)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': no memory for volumes", p->name);
	for (uint32_t i = 0; i < v->places; i++)
		v->at[i].pixels = pixels + (size_t)i * p->slices * v->slice_bytes;
	return 0;
}

void bs_volumes_scan(struct bs_volumes *v, const struct bs_scan_info *info)
{
	if (v->places == 0)
		return;
	bs_stack_scan(&v->stack, v->p, info);
	for (uint32_t i = 0; i < v->places; i++)
		v->at[i].state = BS_VOLUME_EMPTY;
	v->begun = v->slices = v->left = 0;
	v->led = v->closed = false;
}

/* ---- slices ---- */

static bool is_kind(const struct bs_volume *a, const struct bs_mrd_idx *key)
{
	return a->key.contrast == key->contrast && bs_open_alike(&a->key, key);
}

struct bs_volume *bs_volumes_place(struct bs_volumes *v, const struct bs_mrd_acq *first)
{
	const struct bs_mrd_idx key = bs_open_key(first);
	struct bs_volume *to;

	for (uint32_t i = 0; i < v->places; i++)
		if (v->at[i].state == BS_VOLUME_OPEN && is_kind(&v->at[i], &key) &&
		    bs_open_same(v->p, &v->at[i].key, &key) &&
		    v->at[i].state_of[key.slice] == BS_SLICE_MISSING)
			return &v->at[i];
	to = &v->at[(v->begun + 1) % v->places];
	if (to->state != BS_VOLUME_EMPTY) {
		to->state = BS_VOLUME_OVER;
		return NULL;
	}
	to->key = key; /* the volume is open from its first slice on */
	to->number = v->begun + 1;
	to->began = v->slices;
	to->passed = false;
	to->have = 0;
	to->worded = UINT32_MAX;
	memset(to->state_of, BS_SLICE_MISSING, v->p->slices);
	return to;
}

float *bs_volume_slice(const struct bs_volumes *v, const struct bs_volume *to, uint32_t slice)
{
	return (float *)(void *)(to->pixels + slice * v->slice_bytes);
}

int64_t bs_volume_deadline(const struct bs_volumes *v, const struct bs_volume *to, uint32_t slice,
			   int64_t due_ns, int64_t now_ns)
{
	const int64_t lead_ns = v->led ? v->lead_ns[slice - v->stack.from] : 0;

	if (due_ns == INT64_MAX)
		return INT64_MAX;
	return bs_turn_end(due_ns + lead_ns, now_ns, v->stack.slices - to->have);
}

/* Returns true if the ladder has cut the solve short; full: the iterations that the scan set. */
static bool is_cut(const struct bs_report *r, uint32_t full)
{
	return r->allowed > 0 && r->allowed != full && r->iterations >= r->allowed;
}

/* Adds a slice that came apart: the report has the worst of all slices. */
static void add_apart(struct bs_apartness *to, const struct bs_apartness *a)
{
	to->of = to->of > a->of ? to->of : a->of;
	to->phased = to->phased && a->phased;
	to->left = fmaxf(to->left, a->left);
	for (uint32_t b = 0; b < BS_BANDS_MAX; b++)
		to->leakage[b] = fmaxf(to->leakage[b], a->leakage[b]);
}

/*
 * Adds the report of another slice. together: all of the slice's image was made behind the last
 * readout.
 */
static void add_report(struct bs_report *to, const struct bs_report *r, uint32_t full,
		       bool together)
{
	const bool cut = is_cut(to, full) || is_cut(r, full);

	bs_report_solve(to, false, r->iterations, r->residual);
	/* the report of a cut slice makes the whole volume's say so */
	to->allowed = cut ? to->iterations : to->allowed;
	to->gridded = to->gridded || r->gridded;
	to->quadratic = to->quadratic || r->quadratic;
	to->again = to->again || r->again;
	to->deadline_stop = to->deadline_stop || r->deadline_stop;
	to->segments = to->segments > r->segments ? to->segments : r->segments;
	to->field_error = fmax(to->field_error, r->field_error);
	add_apart(&to->apart, &r->apart);
	for (int i = 0; together && i < BS_BUDGET_STAGES; i++)
		to->stage_ns[i] += r->stage_ns[i];
}

static void keep_words(char *to, const char *from, size_t cap)
{
	if (to[0] == '\0')
		memcpy(to, from, cap);
}

/* Makes the volume's image that of its slices so far and of one more. */
static void add_image(struct bs_volume *to, const struct bs_recon_image *slice)
{
	struct bs_recon_image *image = &to->image;
	const struct bs_recon_image before = *image;

	*image = *slice;
	if (to->have == 0)
		return;
	add_report(&image->report, &before.report, image->iterations,
		   slice->last_ns <= before.last_ns);
	image->readouts += before.readouts;
	image->missing += before.missing;
	if (before.frame[0] < image->frame[0])
		image->frame[0] = before.frame[0];
	if (before.frame[1] > image->frame[1])
		image->frame[1] = before.frame[1];
	image->elsewhere = image->elsewhere || before.elsewhere;
	if (before.last_ns > image->last_ns) {
		image->last_ns = before.last_ns;
		image->last_scan_counter = before.last_scan_counter;
	}
	memcpy(image->lacks, before.lacks, sizeof(image->lacks));
	keep_words(image->zeros, before.zeros, sizeof(image->zeros));
	keep_words(image->readout, before.readout, sizeof(image->readout));
}

static enum bs_slice_state state_of(const struct bs_volumes *v, const struct bs_volume *to,
				    const struct bs_pose *pose, const struct bs_recon_image *slice)
{
	if (to->have > 0 && slice->head.image_type != to->first.image_type)
		return BS_SLICE_UNLIKE;
	if (to->have > 0 &&
	    !bs_stack_fits(&v->stack, &to->pose, to->first.slice, pose, slice->head.slice))
		return BS_SLICE_ASTRAY;
	return slice->lacks[0] != '\0' || slice->missing > 0 ? BS_SLICE_PARTIAL : BS_SLICE_WHOLE;
}

/* Notes what a slice lacks: the words of the first such slice are kept. */
static void note_lacks(struct bs_volume *to, const struct bs_recon_image *slice)
{
	if (slice->lacks[0] == '\0')
		return;
	if (to->worded == UINT32_MAX) {
		to->worded = slice->head.slice;
		to->alike = true;
		memcpy(to->image.lacks, slice->lacks, sizeof(slice->lacks));
	} else if (strcmp(to->image.lacks, slice->lacks) != 0) {
		to->alike = false;
	}
}

/* A volume is whole: earlier ones of its kind that it leaves behind are over. */
static void end_earlier(struct bs_volumes *v, const struct bs_volume *whole)
{
	for (uint32_t i = 0; i < v->places; i++) {
		struct bs_volume *a = &v->at[i];

		if (a->state == BS_VOLUME_OPEN && is_kind(a, &whole->key) &&
		    bs_open_later(&a->key, &whole->key) > 0 && a->touched <= whole->began)
			a->state = BS_VOLUME_OVER;
	}
}

static void note_leads(struct bs_volumes *v, const struct bs_volume *whole)
{
	for (uint32_t i = 0; i < v->stack.slices; i++) {
		const int64_t ns = whole->image.last_ns - whole->last_ns[v->stack.from + i];

		if (!v->led || ns < v->lead_ns[i])
			v->lead_ns[i] = ns;
	}
	v->led = true;
}

void bs_volumes_join(struct bs_volumes *v, struct bs_volume *to, const struct bs_mrd_acq *line,
		     const struct bs_recon_image *slice)
{
	const uint32_t number = slice->head.slice;
	struct bs_pose pose;

	bs_pose_of(&pose, line);
	to->touched = ++v->slices;
	to->state_of[number] = (uint8_t)state_of(v, to, &pose, slice);
	to->last_ns[number] = slice->last_ns;
	add_image(to, slice);
	if (to->have++ == 0) {
		to->state = BS_VOLUME_OPEN;
		v->begun++;
		to->first = slice->head;
		to->pose = pose;
		to->image.lacks[0] = '\0';
	}
	note_lacks(to, slice);
	if (to->have < v->stack.slices)
		return;
	to->state = BS_VOLUME_OVER;
	note_leads(v, to);
	end_earlier(v, to);
}

/* ---- volumes ---- */

void bs_volumes_end(struct bs_volumes *v)
{
	for (uint32_t i = 0; i < v->places; i++)
		if (v->at[i].state == BS_VOLUME_OPEN)
			v->at[i].state = BS_VOLUME_OVER;
}

uint32_t bs_volumes_due(const struct bs_volumes *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->places; i++)
		n += v->at[i].state == BS_VOLUME_OVER ||
		     (v->closed && v->at[i].state == BS_VOLUME_OPEN);
	return n;
}

/* Copies the slices to [channel][z][y][x]. */
static void gather(const struct bs_volumes *v, const struct bs_volume *from, unsigned char *to)
{
	const uint32_t channels = bs_protocol_channels(v->p);
	const size_t bytes = (size_t)bs_protocol_image_bytes(v->p) / channels;

	for (uint32_t i = 0; i < v->stack.slices; i++) {
		const uint32_t slice = v->stack.from + i;
		const bool is_zero = from->state_of[slice] == BS_SLICE_MISSING ||
				     from->state_of[slice] == BS_SLICE_UNLIKE;

		for (uint32_t c = 0; c < channels; c++) {
			unsigned char *at =
				to + ((size_t)c * v->stack.slices + v->stack.z[i]) * bytes;

			if (is_zero)
				memset(at, 0, bytes);
			else
				memcpy(at, from->pixels + slice * v->slice_bytes + c * bytes,
				       bytes);
		}
	}
}

/* The volume's place: its position is the center of slice slices / 2, as in any image in 3D. */
static void fill_head(const struct bs_volumes *v, const struct bs_volume *from,
		      struct bs_recon_image *image)
{
	const struct bs_stack *s = &v->stack;
	struct bs_mrd_image *h = &image->head;
	const double length = bs_dir_length(from->pose.slice_dir);
	const double mm = s->start + s->step * (s->slices / 2) - s->at[from->first.slice - s->from];
	const uint32_t stamp = h->acquisition_time_stamp;
	uint32_t physiology[3];

	memcpy(physiology, h->physiology_time_stamp, sizeof(physiology));
	*h = from->first;
	h->acquisition_time_stamp = stamp;
	memcpy(h->physiology_time_stamp, physiology, sizeof(physiology));
	h->matrix_size[2] = (uint16_t)s->slices;
	for (int d = 0; d < 3 && s->step > 0.0 && length > 0.0; d++)
		h->position[d] =
			(float)((double)h->position[d] + mm / length * (double)h->slice_dir[d]);
	image->joined.thickness_mm = h->field_of_view[2];
	h->field_of_view[2] = s->step > 0.0 ? (float)(s->step * s->slices)
					    : h->field_of_view[2] * (float)s->slices;
	h->slice = 0;
	h->image_index = (uint16_t)image->number;
}

/*
 * Writes "slices 3, 5-8 are", the slices in this state, and what they are. Returns how many there
 * are. A list that is too long is replaced by their number.
 */
static uint32_t say_slices(struct bs_text *t, const struct bs_volumes *v,
			   const struct bs_volume *of, enum bs_slice_state state, const char *what)
{
	const uint32_t end = v->stack.from + v->stack.slices;
	char list[120] = "";
	struct bs_text to = { list, sizeof(list), 0, false };
	uint32_t n = 0;

	for (uint32_t i = v->stack.from, last; i < end; i = last + 1) {
		for (last = i; last + 1 < end && of->state_of[last + 1] == of->state_of[i];)
			last++;
		if (of->state_of[i] != state)
			continue;
		bs_text_put(&to, last > i ? "%s%u-%u" : "%s%u", n > 0 ? ", " : "", i, last);
		n += last - i + 1;
	}
	if (to.full)
		(void)snprintf(list, sizeof(list), "(%u of them)", n);
	if (n > 0)
		bs_text_put(t, "%sslice%s %s %s %s", bs_text_between(t), bs_text_s(n), list,
			    n == 1 ? "is" : "are", what);
	return n;
}

/* Writes what the volume lacks, slice by slice. */
static void say_lacks(const struct bs_volumes *v, const struct bs_volume *of,
		      struct bs_recon_image *image)
{
	struct bs_text t = { image->lacks, sizeof(image->lacks), 0, false };

	image->lacks[0] = '\0';
	if (say_slices(&t, v, of, BS_SLICE_MISSING, "missing and zeros") > 0 && v->stack.guessed)
		bs_text_put(&t, ", and where they lie is not known");
	(void)say_slices(&t, v, of, BS_SLICE_UNLIKE, "of another kind, and zeros");
	(void)say_slices(&t, v, of, BS_SLICE_ASTRAY, "moved against the others");
	(void)say_slices(&t, v, of, BS_SLICE_PARTIAL, "partial");
	if (of->worded == UINT32_MAX)
		return;
	bs_text_put(&t, "%s", bs_text_between(&t));
	if (of->alike)
		bs_text_put(&t, "%s", of->image.lacks);
	else
		bs_text_put(&t, "slice %u: %s", of->worded, of->image.lacks);
}

/* Writes how the slices lie, where a reader would take it otherwise. */
static void say_stack(const struct bs_stack *s, struct bs_recon_image *image)
{
	struct bs_text t = bs_text_behind(image->header, sizeof(image->header));
	const double thick = (double)image->joined.thickness_mm;

	if (s->slices > 1 && s->step == 0.0 && s->guessed)
		bs_text_put(&t, "%sno position tells the slices' distance: it is their thickness",
			    bs_text_between(&t));
	else if (s->slices > 1 && s->step == 0.0)
		bs_text_put(&t, "%sno %s tells the slices' order: it is that of their numbers",
			    bs_text_between(&t),
			    bs_dir_length(s->first.slice_dir) > 0.0 ? "position" : "direction");
	else if (s->slices > 1 && thick > 0.0 && fabs(s->step - thick) > 0.01 * thick)
		bs_text_put(&t, "%sslices of %.4g mm lie %.4g mm apart", bs_text_between(&t), thick,
			    s->step);
}

const struct bs_volume *bs_volumes_leave(struct bs_volumes *v, struct bs_recon_image *image)
{
	struct bs_volume *first = NULL;
	float *pixels = image->pixels;

	for (uint32_t i = 0; i < v->places; i++)
		if (v->at[i].state == BS_VOLUME_OVER &&
		    (first == NULL || v->at[i].number < first->number))
			first = &v->at[i];
	if (first == NULL)
		return NULL;
	bs_stack_order(&v->stack);
	*image = first->image;
	image->pixels = pixels;
	image->number = ++v->left;
	image->own = image->own && first->have == v->stack.slices;
	image->missing +=
		(image->readouts + image->missing) / first->have * (v->stack.slices - first->have);
	fill_head(v, first, image);
	image->joined.slices = v->stack.slices;
	for (uint32_t i = 0; i < v->stack.slices; i++)
		image->joined.number[v->stack.z[i]] = (uint16_t)(v->stack.from + i);
	say_lacks(v, first, image);
	say_stack(&v->stack, image);
	if (!first->passed)
		gather(v, first, (unsigned char *)pixels);
	first->state = BS_VOLUME_EMPTY;
	return first;
}
