/* board/ingest/answer.c - answers of readouts and of images' steps, to the sender; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

static struct bs_answering_of answering_of(const struct ingest *in,
					   const struct bs_ingest_scan *scan)
{
	const struct bs_shared *s = in->env->shm.s;

	return (struct bs_answering_of){ &scan->record->answering,
					 (unsigned char *)in->env->shm.s + s->at.answers,
					 s->pools.acq_bytes, scan->p, &scan->record->info };
}

static bool are_asked(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return in->env->record_bytes == 0 && scan->p->answers.count > 0 &&
	       in->env->shm.s->pools.answer_slots > 0 && bs_answers_asked(&scan->record->info);
}

/* Tells the sender n answers, then the log: none waits for the log's copy of another. */
static void give(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_answer *made,
		 uint32_t n, int64_t received_ns, int64_t sender_ns)
{
	struct bs_telling t[BS_ANSWERS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const double deadline_ms = scan->p->answers.row[made[i].row].deadline_ms;

		t[i] = (struct bs_telling){ scan->session, sender_ns, made[i] };
		t[i].answer.received_ns = received_ns;
		t[i].answer.by_ns = received_ns + bs_ns_of_ms(deadline_ms);
		t[i].answer.computed_ns = bs_now_ns();
		if (in->feed == NULL) /* else images are made again whose answers were told */
			bs_ingest_tell(in, &t[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		bs_ingest_log_answer(in, scan, &t[i]);
}

void bs_ingest_answer(struct ingest *in, struct bs_ingest_scan *scan, uint32_t slot)
{
	const struct bs_acq_meta *m = &in->env->shm.acq_meta[slot];
	const struct bs_answering_of of = answering_of(in, scan);
	struct bs_answer made[BS_ANSWERS_MAX];
	uint32_t n;

	if (!are_asked(in, scan))
		return;
	n = bs_answers_make(&of, &m->head, m->seq, bs_shm_samples(&in->env->shm, slot), made);
	if (!m->logged) /* else its answers were given when it came from its sender */
		give(in, scan, made, n, m->received_ns, m->sender_ns);
}

static void answer_step(struct ingest *in, struct bs_ingest_scan *scan,
			const struct bs_said_numbers *said)
{
	const struct bs_answering_of of = answering_of(in, scan);
	struct bs_answer made[BS_ANSWERS_MAX];
	uint32_t n;

	if (!are_asked(in, scan))
		return;
	n = bs_answers_step(&of, (uint32_t)said->image, said->number, said->numbers, made);
	give(in, scan, made, n, said->received_ns, said->sender_ns);
}

void bs_ingest_answer_steps(struct ingest *in)
{
	const struct bs_said *s = &in->env->shm.s->said;
	const uint64_t end = atomic_load(&s->count);
	struct bs_said_numbers said;

	for (; in->steps != end; in->steps++) {
		if (!bs_said_get(s, in->steps, &said)) {
			bs_count(&in->now.record->answers_late, 1);
			bs_count(&in->totals->answers_late, 1);
		} else if (said.scan == in->now.id && bs_ingest_in_scan(&in->now)) {
			answer_step(in, &in->now, &said);
		} else if (in->before.id != 0 && said.scan == in->before.id) {
			answer_step(in, &in->before, &said);
		}
	}
}
