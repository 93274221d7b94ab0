/* test/simulate/places.c - see places.h */
#include "test/simulate/places.h"

#include <stddef.h>

extern struct sim_place __start_sim_places[];
extern struct sim_place __stop_sim_places[];

uint32_t places_count(void)
{
	return (uint32_t)(__stop_sim_places - __start_sim_places);
}

const struct sim_place *places_get(uint32_t i)
{
	return i < places_count() ? &__start_sim_places[i] : NULL;
}

uint32_t places_index(const struct sim_place *p)
{
	return (uint32_t)(p - __start_sim_places);
}
