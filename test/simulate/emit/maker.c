/* test/simulate/emit/maker.c - see maker.h */
#include "test/simulate/emit/maker.h"

#include "test/simulate/emit/pictures.h"

#define SCAN_MAX 30u /* images of a scan */

static struct bs_shm *shm;
static enum { IDLE, TAKEN, FILLED, ENDING } next;
static bool once; /* one image is asked for */
static int64_t make_ns;
static uint32_t slot;
static int64_t apart_ns; /* at most, between two images that a step has time for */
static uint64_t scan, session, seq, scan_images;

void maker_reset(struct bs_shm *m)
{
	shm = m;
	next = IDLE;
	once = false;
	make_ns = 0;
	apart_ns = 0;
	if (m->s->pools.step_slots > 0)
		apart_ns = (int64_t)sim_spread(6) * MS;
	scan = seq = scan_images = 0;
}

static void fill(void)
{
	struct bs_image_meta *m = &shm->image_meta[slot];

	*m = (struct bs_image_meta){ .scan = scan,
				     .session = session,
				     .engine = "none",
				     .from_ns = sim_now,
				     .ready_ns = sim_now,
				     .begun_ns = sim_now,
				     .made_ns = sim_now };
	m->image.number = seq + 1;
	m->image.head = (struct bs_mrd_image){ .version = 1,
					       .data_type = BS_MRD_FLOAT,
					       .measurement_uid = (uint32_t)session,
					       .matrix_size = { 16, PICTURE_PIXELS / 16, 1 },
					       .channels = 1,
					       .image_type = BS_MRD_MAGNITUDE,
					       .image_index = (uint16_t)(seq + 1) };
	pictures_draw((float *)(void *)(bs_shm_image(shm, slot) + BS_POOLS_PIXELS), session,
		      seq + 1);
}

static void open_scan(void)
{
	session = sim_random() | 1;
	seq = 0;
	scan_images = 1 + sim_below(SCAN_MAX);
	scan++;
	shm->s->scan[scan & 1].session = session;
	atomic_store(&shm->s->scan[scan & 1].id, scan);
	atomic_store(&shm->s->scan[scan & 1].open, 1);
}

static bool may_make(bool calm)
{
	if (next == TAKEN || next == FILLED)
		return true;
	if (next == ENDING)
		return atomic_load(&shm->s->scan[scan & 1].ended) == scan;
	return sim_now >= make_ns && (calm ? once : pictures < PICTURES_MADE) &&
	       bs_pool_in_use(shm->image_pool) < shm->image_pool->slots;
}

static void push(enum bs_entry_kind kind)
{
	if (!bs_ring_push(shm->image_ring, bs_entry(kind, scan, slot)))
		sim_broken("the images' queue is full");
	bs_shm_ring_bell(shm, BS_WORKER_EMIT);
}

/* One of its steps: between any two it may be replaced. */
static void make(bool calm)
{
	switch (next) {
	case IDLE:
		if (scan_images == 0)
			open_scan();
		if (bs_pool_take(shm->image_pool, BS_OWNER_RECON, &slot))
			next = TAKEN;
		break;
	case TAKEN:
		fill();
		next = FILLED;
		break;
	case FILLED:
		pictures_add(session, ++seq);
		push(BS_ENTRY_IMAGE);
		once = false;
		make_ns = sim_now + (sim_chance(200) ? (int64_t)sim_spread(8) * MS : 0);
		if (sim_chance(500))
			make_ns += (int64_t)sim_below(5) * MS;
		if (apart_ns > 0)
			make_ns += (int64_t)sim_below((uint32_t)apart_ns);
		next = IDLE;
		if (--scan_images == 0 || calm) {
			scan_images = 0;
			push(BS_ENTRY_END);
			next = ENDING;
		}
		break;
	default: /* its end has passed */
		atomic_store(&shm->s->scan[scan & 1].open, 0);
		next = IDLE;
	}
}

bool maker_kill(void)
{
	struct bs_fail why;

	if (next != TAKEN && next != FILLED)
		return false;
	(void)bs_shm_recover(shm, BS_WORKER_RECON, &why);
	next = IDLE;
	return true;
}

bool maker_turn(bool calm)
{
	if (!may_make(calm))
		return false;
	make(calm);
	return true;
}

int64_t maker_due(void)
{
	return make_ns > sim_now ? make_ns : INT64_MAX;
}

void maker_once(void)
{
	once = true;
}

bool maker_rests(void)
{
	return !once && next == IDLE;
}

bool maker_has_slot(void)
{
	return next == TAKEN || next == FILLED;
}
