/* board/arm/measuring.c - timings, and the readouts that are timed; see measuring.h */
#include "board/arm/measuring.h"

#include "core/thread/clock.h"

void bs_measuring_note_ns(const struct measuring *m, struct series *s, int64_t from_ns, int64_t ns)
{
	int64_t now = bs_now_ns();
	int64_t stalled = bs_canary_stalled(m->env->canary, m->env->canaries, from_ns, now, now);

	if (s->n < BS_MEASURE_MAX)
		s->at[s->n++] = (struct bs_timing){ ns, stalled * 20 > now - from_ns };
}

void bs_measuring_note(const struct measuring *m, struct series *s, int64_t from_ns,
		       int64_t less_ns)
{
	bs_measuring_note_ns(m, s, from_ns, bs_now_ns() - from_ns - less_ns);
}

void bs_measuring_sweep(struct measuring *m)
{
	for (size_t i = 0; i < m->sweep_len; i += 64)
		m->sweep[i]++;
}

const struct bs_traj *bs_measuring_table(const struct measuring *m)
{
	if (m->p->plan.streams)
		return &m->trial;
	return m->a->loaded.tables.traj != NULL ? &m->a->loaded.traj : NULL;
}

struct bs_mrd_acq bs_measuring_head(const struct measuring *m, uint32_t row)
{
	const struct bs_traj *t = bs_measuring_table(m);
	struct bs_mrd_acq h = { .version = 1,
				.number_of_samples = (uint16_t)m->p->samples,
				.available_channels = (uint16_t)m->p->coils,
				.active_channels = (uint16_t)m->p->coils,
				.scan_counter = row + 1 };

	if (t != NULL) {
		h.trajectory_dimensions = (uint16_t)t->dims;
		h.idx.kspace_encode_step_1 = t->step1[row];
		h.idx.kspace_encode_step_2 = t->step2[row];
	} else if (m->p->encoded[1] > 0) {
		h.idx.kspace_encode_step_1 = (uint16_t)(row % m->p->encoded[1]);
		h.idx.kspace_encode_step_2 = (uint16_t)(row / m->p->encoded[1]);
	}
	/* the header names the center line, since noise has no strongest line to find it by */
	for (int a = 0; a < 2; a++)
		h.idx.user[5 + a] = (uint16_t)(m->p->encoded[1 + a] / 2);
	h.idx.repetition = m->repetition;
	return h;
}
