/*
 * test/unit/core/memory/test_stamp.c - a record under a stamp, and a ring that is written over, are
 * copied whole or not at all while another thread writes them
 */
#include "core/memory/stamp.h"

#include <pthread.h>
#include <sched.h>

#include "test/support/check.h"

#define WORDS  32u
#define ROUNDS 40000u
#define KEPT   4u

/* The words are atomic, without any order: so the sanitizer sees a protocol, not a race. */
static struct {
	_Atomic uint32_t stamp;
	_Alignas(64) _Atomic uint64_t word[WORDS];
} record;

static struct {
	_Atomic uint64_t count; /* entry n is in place n % KEPT */
	_Alignas(64) _Atomic uint64_t kept[KEPT][WORDS];
} ring;

static _Atomic uint32_t over; /* rounds of the writer that are done */

static void fill(_Atomic uint64_t *to, uint64_t value)
{
	for (uint32_t i = 0; i < WORDS; i++)
		atomic_store_explicit(&to[i], value, memory_order_relaxed);
}

/* True: all words are the same; *value: that. */
static bool copy(const _Atomic uint64_t *from, uint64_t *value)
{
	bool same = true;

	*value = atomic_load_explicit(&from[WORDS - 1], memory_order_relaxed);
	for (uint32_t i = 0; i < WORDS; i++)
		same = same && atomic_load_explicit(&from[i], memory_order_relaxed) == *value;
	return same;
}

static void *write_all(void *arg)
{
	(void)arg;
	for (uint32_t n = 1; n <= ROUNDS; n++) {
		bs_stamp_open(&record.stamp);
		fill(record.word, n);
		bs_stamp_close(&record.stamp);
		bs_stamp_before();
		fill(ring.kept[(n - 1) % KEPT], n);
		atomic_store(&ring.count, n);
		atomic_store(&over, n);
		if (n % 64 == 0)
			(void)sched_yield();
	}
	return NULL;
}

static void test_beside_a_writer(void)
{
	uint64_t whole = 0, torn = 0, thrown = 0, back = 0, last = 0;
	uint64_t entries = 0, bad = 0, late = 0;
	uint64_t next = 0;
	pthread_t writer;

	if (pthread_create(&writer, NULL, write_all, NULL) != 0) {
		CHECK(false, "no thread");
		return;
	}
	for (bool ended = false; !ended;) {
		uint64_t value = 0;
		uint32_t before;
		bool same;

		/* asked before the stamp is read: so it is copied once more after the last round */
		ended = atomic_load(&over) == ROUNDS;
		before = bs_stamp_read(&record.stamp);
		same = copy(record.word, &value);
		if (bs_stamp_held(&record.stamp, before)) {
			whole++;
			torn += !same;
			back += value < last;
			last = value;
		} else {
			thrown++;
		}
		for (const uint64_t end = atomic_load(&ring.count); next < end; next++) {
			if (end - next > KEPT)
				next = end - KEPT;
			same = copy(ring.kept[next % KEPT], &value);
			bs_stamp_after();
			if (atomic_load(&ring.count) - next >= KEPT) {
				late++;
				continue;
			}
			entries++;
			bad += !same || value != next + 1;
		}
	}
	(void)pthread_join(writer, NULL);
	CHECK(whole > 0 && torn == 0 && back == 0 && last == ROUNDS,
	      "a record is copied whole: %llu times, %llu torn, %llu older, %llu thrown away",
	      (unsigned long long)whole, (unsigned long long)torn, (unsigned long long)back,
	      (unsigned long long)thrown);
	CHECK(entries > 0 && bad == 0 && next == ROUNDS,
	      "entries of a ring that is written over: %llu whole, %llu not, %llu came too late",
	      (unsigned long long)entries, (unsigned long long)bad, (unsigned long long)late);
}

static void test_open(void)
{
	_Atomic uint32_t stamp = 0;
	uint32_t before = bs_stamp_read(&stamp);

	CHECK(bs_stamp_held(&stamp, before), "a record that nobody writes is held");
	bs_stamp_open(&stamp);
	CHECK(!bs_stamp_held(&stamp, before), "not one that is being written");
	before = bs_stamp_read(&stamp);
	CHECK(!bs_stamp_held(&stamp, before), "nor one that was when the copy began");
	bs_stamp_close(&stamp);
	CHECK(!bs_stamp_held(&stamp, before) && !bs_stamp_held(&stamp, 0), "nor one that changed");
	CHECK(bs_stamp_held(&stamp, bs_stamp_read(&stamp)), "the next copy is");
}

int main(void)
{
	test_open();
	test_beside_a_writer();
	return check_done();
}
