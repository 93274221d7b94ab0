/* test/simulate/recon.c - see recon.h */
#include "test/simulate/recon.h"

#include <string.h>

#include "test/simulate/books.h"

#define HELD 8u /* slots that its engine still reads */

static struct bs_shm *shm;
static bool lives, armed;
static int64_t ready_ns, stopped_until_ns;
static int64_t solved_ns;                 /* it makes the last images of a scan until then */
static uint64_t scan, session;            /* that it works on; scan 0: none */
static uint64_t readouts, last_opened[2]; /* scan n in place n % 2 */
static uint32_t held[HELD], held_count;
/* what it is about to do with the entry in front */
static enum { PEEK, SOLVE, USE, ADVANCE } next;
static uint64_t entry;
/* emit: the ends of these scans pass then, one after the other; 0: none does */
static uint64_t ending[2];
static int64_t ending_ns[2];

void recon_reset(struct bs_shm *m)
{
	shm = m;
	lives = armed = false;
	stopped_until_ns = 0;
	memset(ending, 0, sizeof(ending));
	memset(last_opened, 0, sizeof(last_opened));
}

void recon_start(int64_t at_ns)
{
	lives = true;
	armed = false;
	ready_ns = at_ns;
	scan = 0;
	held_count = 0;
	next = PEEK;
	solved_ns = 0;
	atomic_store(&shm->s->worker[BS_WORKER_RECON].phase, BS_PHASE_ARMING);
}

void recon_kill(void)
{
	lives = false;
	books_recon_gone();
}

bool recon_lives(void)
{
	return lives;
}

void recon_stop(int64_t until_ns)
{
	stopped_until_ns = until_ns;
}

bool recon_ready(void)
{
	return recon_due() <= sim_now;
}

int64_t recon_due(void)
{
	int64_t due = ending[0] != 0 ? ending_ns[0] : INT64_MAX;
	int64_t mine = INT64_MAX;

	if (lives && !armed)
		mine = ready_ns;
	else if (lives && (bs_ring_count(shm->acq_ring) > 0 || held_count > 0))
		mine = 0;
	if (mine != INT64_MAX && mine < stopped_until_ns)
		mine = stopped_until_ns;
	if (mine != INT64_MAX && mine < solved_ns)
		mine = solved_ns;
	return mine < due ? mine : due;
}

bool recon_knows(uint64_t id)
{
	uint64_t tail = atomic_load(&shm->acq_ring->tail);
	uint64_t e;

	for (; bs_ring_look(shm->acq_ring, tail, &e); tail++)
		if (bs_entry_kind(e) == BS_ENTRY_OPEN && bs_entry_of(e, id))
			return true;
	return last_opened[id & 1] == id;
}

static void give(uint32_t slot)
{
	bs_pool_give(shm->acq_pool, slot);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
}

static void give_all(void)
{
	while (held_count > 0)
		give(held[--held_count]);
}

static void open_scan(void)
{
	struct bs_scan_record *s = &shm->s->scan[bs_entry_place(entry)];

	give_all();
	scan = 0;
	if (!bs_entry_of(entry, atomic_load(&s->id)) || !atomic_load(&s->open))
		return;
	scan = last_opened[bs_entry_place(entry)] = atomic_load(&s->id);
	session = s->session;
	readouts = 0;
	books_recon_opens(session, scan);
}

static void count(_Atomic uint64_t *c)
{
	atomic_store(c, atomic_load(c) + 1);
}

static void end_later(void)
{
	const uint32_t at = ending[0] != 0;

	if (ending[0] == scan || ending[1] == scan ||
	    atomic_load(&shm->s->scan[scan & 1].ended) == scan)
		return; /* it was given again */
	if (ending[1] != 0) {
		sim_broken("a third scan closes while two have not ended");
		return;
	}
	ending[at] = scan;
	(void)bs_ring_push(shm->image_ring, bs_entry(BS_ENTRY_IMAGE, scan, 0));
	ending_ns[at] = sim_now + (int64_t)sim_spread(5) * MS;
	if (at == 1 && ending_ns[1] < ending_ns[0])
		ending_ns[1] = ending_ns[0];
}

static void use(void)
{
	const uint32_t slot = bs_entry_slot(entry);
	struct bs_scan_record *s = &shm->s->scan[bs_entry_place(entry)];

	switch (bs_entry_kind(entry)) {
	case BS_ENTRY_OPEN:
		open_scan();
		break;
	case BS_ENTRY_ACQ:
		if (scan == 0 || !bs_entry_of(entry, scan))
			break;
		books_saw(&shm->acq_meta[slot].head, bs_shm_samples(shm, slot));
		if (++readouts % s->info.encoded[1] == 0) {
			count(&s->images_made);
			count(&s->images_left);
		}
		break;
	case BS_ENTRY_CLOSE:
		if (scan == 0 || !bs_entry_of(entry, scan))
			break;
		give_all();
		books_recon_ends(session);
		end_later();
		scan = 0;
		break;
	default:
		sim_broken("an entry of kind %d in the ring", (int)bs_entry_kind(entry));
	}
}

static void advance(void)
{
	const uint32_t slot = bs_entry_slot(entry);

	bs_ring_advance(shm->acq_ring);
	if (bs_entry_kind(entry) != BS_ENTRY_ACQ)
		return;
	if (scan != 0 && held_count < HELD && sim_chance(300))
		held[held_count++] = slot;
	else
		give(slot);
}

static void emit(void)
{
	if (ending[0] == 0 || sim_now < ending_ns[0])
		return;
	bs_ring_advance(shm->image_ring);
	count(&shm->s->images.ready);
	atomic_store(&shm->s->scan[ending[0] & 1].ended, ending[0]);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	books_passed(ending[0]);
	SAY("the end of scan %llu has passed", (unsigned long long)ending[0]);
	ending[0] = ending[1];
	ending_ns[0] = ending_ns[1];
	ending[1] = 0;
}

void recon_turn(void)
{
	emit();
	if (!lives || sim_now < stopped_until_ns || sim_now < solved_ns)
		return;
	if (!armed) {
		if (sim_now < ready_ns)
			return;
		armed = true;
		atomic_store(&shm->s->worker[BS_WORKER_RECON].phase, BS_PHASE_READY);
		for (int i = 0; i < BS_BELLS; i++)
			bs_shm_ring_bell(shm, i);
		return;
	}
	switch (next) {
	case PEEK:
		if (!bs_ring_peek(shm->acq_ring, &entry)) {
			give_all();
			return;
		}
		if (bs_entry_kind(entry) == BS_ENTRY_ACQ) {
			if (bs_entry_slot(entry) >= shm->acq_pool->slots) {
				sim_broken("slot %u in the ring", bs_entry_slot(entry));
				return;
			}
			if (atomic_load(&shm->acq_pool->owner[bs_entry_slot(entry)]) ==
			    BS_OWNER_FREE)
				sim_broken("slot %u in the ring is free", bs_entry_slot(entry));
			bs_pool_claim(shm->acq_pool, bs_entry_slot(entry), BS_OWNER_RECON);
		}
		next = bs_entry_kind(entry) == BS_ENTRY_CLOSE ? SOLVE : USE;
		break;
	case SOLVE: /* often at once, now and then for seconds */
		if (sim_chance(400))
			solved_ns = sim_now + (int64_t)sim_spread(12) * MS;
		next = USE;
		break;
	case USE:
		use();
		next = ADVANCE;
		break;
	case ADVANCE:
		advance();
		next = PEEK;
		break;
	}
}
