/*
 * test/simulate/places.h - the places where a process may be killed between two of its effects:
 * before each store for other processes (step.h), in each call of the simulated system
 *
 * Every place is known, whether it was ever reached or not: they lie in a section of their own.
 */
#ifndef BS_TEST_SIMULATE_PLACES_H
#define BS_TEST_SIMULATE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct sim_place {
	const char *file;
	uint32_t line;
};

/* A step, here. */
#define SIM_PLACE()                                                                                \
	__extension__({                                                                            \
		static struct sim_place sim_here                                                   \
			__attribute__((used, section("sim_places"))) = { __FILE__, __LINE__ };     \
		sim_at(&sim_here);                                                                 \
	})

void sim_at(const struct sim_place *p);

uint32_t places_count(void);
/* NULL: there is no such place. */
const struct sim_place *places_get(uint32_t i);
uint32_t places_index(const struct sim_place *p);

#endif
