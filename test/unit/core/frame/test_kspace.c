/*
 * test/unit/core/frame/test_kspace.c - the readouts of an image, for a step that takes frames: each
 * in its row as it came, whole frames, partial ones, two slices at once, and a sliding window
 */
#include "core/frame/step.h"
#include "test/support/window.h"

struct subject {
	const char *name;
	struct bs_protocol p;
	struct window_site site;
	struct bs_recon *r;
	float *pixels, *want; /* want: [slice][coil][row][sample], what should be kept now */
	uint32_t images, wrong;
	bool loses;
};

static struct bs_fail why;

/* What the slice's frame should hold of a row: a readout, or nothing. */
static void expect(struct subject *s, uint32_t slice, uint32_t row, const float *data)
{
	const size_t n = 2 * (size_t)s->p.samples;

	for (uint32_t c = 0; c < s->p.coils; c++) {
		float *to = s->want + ((slice * s->p.coils + c) * s->p.readouts + row) * n;

		if (data != NULL)
			memcpy(to, data + c * n, n * sizeof(float));
		else
			memset(to, 0, n * sizeof(float));
	}
}

/* Takes the images that are ready, and compares what they were made of. */
static void take(struct subject *s)
{
	const size_t bytes = (size_t)bs_protocol_kspace_bytes(&s->p);
	struct bs_recon_image image = { .pixels = s->pixels };
	int rc;

	while ((rc = bs_recon_pop(s->r, &image, INT64_MAX, &why)) == 1) {
		const uint32_t slice = image.head.slice;

		s->images++;
		s->wrong +=
			image.kspace == NULL ||
			memcmp(image.kspace, s->want + slice * bytes / sizeof(float), bytes) != 0;
		for (uint32_t row = 0; s->p.frame_step == 0 && row < s->p.readouts; row++)
			expect(s, slice, row, NULL);
	}
	CHECK(rc == 0, "%s: %s", s->name, rc == 0 ? "image" : why.text);
}

static void feed(struct subject *s, uint32_t i, uint32_t slice, uint32_t row, uint32_t repetition)
{
	struct bs_mrd_acq h = { .number_of_samples = (uint16_t)s->p.samples,
				.active_channels = (uint16_t)s->p.coils,
				.scan_counter = i };
	const float *data = s->site.data + i * s->site.row;

	h.idx.slice = (uint16_t)slice;
	h.idx.repetition = (uint16_t)repetition;
	while (bs_recon_readout(s->r, &h, row, data, i, &why) == BS_RECON_POP_FIRST)
		take(s);
	/* a window's group begins with its first row: the others of it are of a pass before */
	for (uint32_t k = 1;
	     s->p.frame_step > 0 && row % s->p.frame_step == 0 && k < s->p.frame_step; k++)
		expect(s, slice, row + k, NULL);
	expect(s, slice, row, data);
	take(s);
}

static void test_subject(struct subject *s, uint32_t images)
{
	const uint32_t slices = s->p.slices;
	const uint32_t each = s->p.readouts * slices;
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	const struct bs_scan_info info = { .channels = s->p.coils };
	const bool open = window_site_open(&s->site, &s->p, 3 * slices) &&
			  bs_recon_need(&s->p, &bs_engine_host, &need, &why) == 0 &&
			  bs_arena_open(&arena, need.total_bytes, &why) == 0 &&
			  bs_team_open(&team, 1, &why) == 0;
	struct bs_tables tables = { .traj = &s->site.traj, .maps = s->site.maps };
	struct bs_arm_env env = { .arena = &arena, .team = team, .cache_dir = "" };

	CHECK(open && bs_recon_arm(&s->r, &s->p, &bs_engine_host, &tables, &env, &why) == 0,
	      "%s is armed %s", s->name, why.text);
	s->pixels = calloc(1, (size_t)bs_protocol_leaving_bytes(&s->p));
	s->want = calloc(slices, (size_t)bs_protocol_kspace_bytes(&s->p));
	bs_recon_scan(s->r, &info);
	for (uint32_t i = 0; i < 3 * each - 4 * slices; i++) {
		if (s->loses && i >= 20 && i < 25) { /* a group of the second pass */
			expect(s, 0, i - 15, NULL);
			continue;
		}
		feed(s, i, i % slices, i / slices % s->p.readouts, i / each);
	}
	bs_recon_close(s->r);
	take(s);
	CHECK(s->images == images && s->wrong == 0,
	      "%s: %u images, and of %u the readouts are others", s->name, s->images, s->wrong);
	bs_recon_disarm(s->r);
	bs_arena_close(&arena);
	bs_team_close(team);
	window_site_close(&s->site);
	free(s->pixels);
	free(s->want);
}

int main(void)
{
	struct subject all[4] = { { .name = "frames" },
				  { .name = "two slices, line by line" },
				  { .name = "a window" },
				  { .name = "a window that loses a group", .loses = true } };
	/* three passes, the last one without its last four rows */
	const uint32_t images[4] = { 3, 6, 7, 6 };

	for (int i = 0; i < 4; i++) {
		struct bs_protocol p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_RADIAL2D, 20, 20, 1, 3);

		readouts_of(&p, 15, 40);
		p.accuracy = 1e-3;
		p.density = BS_DENSITY_RAMP;
		p.combine = BS_COMBINE_RSS;
		p.slices = i == 1 ? 2 : 1;
		p.frame_step = i >= 2 ? 5 : 0;
		p.step = (struct bs_step_of){ .at = 1, .ms = 1.0, .takes = BS_STEP_TAKES_FRAME };
		all[i].p = planned(p);
		test_subject(&all[i], images[i]);
	}
	return check_done();
}
