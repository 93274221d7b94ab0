/* test/simulate/totals.c - see totals.h */
#include "test/simulate/totals.h"

#include <stdio.h>
#include <string.h>

#include "test/simulate/places.h"

#define FILES 64u

struct sim_totals *sim_totals;

static const char *const seen[SEEN_MAX] = {
	[SEEN_ACCEPTED] = "scans that were accepted",
	[SEEN_WHOLE] = "that ended with code 0",
	[SEEN_GAPS] = "that named gaps",
	[SEEN_CUT_SHORT] = "that were ended before their close",
	[SEEN_REFUSED] = "that were refused, or forgotten with the service",
	[SEEN_OVER_INGEST] = "whole although ingest was killed within them",
	[SEEN_OVER_RECON] = "whole although recon was killed within them",
	[SEEN_OVER_BOTH] = "whole although both were",
	[SEEN_OVER_SERVICE] = "whole although all of the service was killed within them",
	[SEEN_SECOND] = "whole, and accepted before the scan before had its outcome",
	[SEEN_SECOND_OVER] = "of these, with ingest or recon killed within them",
	[SEEN_LOST_RECON] = "lost with a recon, in words",
	[SEEN_UNPROTECTED] = "that went on unprotected",
	[SEEN_UNPROTECTED_RECON] = "and whose recon was killed then",
	[SEEN_UNPROTECTED_INGEST] = "and whose ingest was killed then",
	[SEEN_DURABLE_POWER] = "that had durable messages when the power went",
	[SEEN_RETURNED] = "whose sender came back on another connection",
	[SEEN_LOGS] = "logs that were read back",
	[SEEN_SEGMENTS] = "segments of theirs beyond the first",
	[SEEN_PROVEN] = "logs that were what their node had signed",
	[SEEN_RECOVERED] = "of these, with what was signed after its writer's end",
	[SEEN_ANSWERS_SAID] = "answers that were said",
	[SEEN_ANSWERS_OVER] = "more, after ingest was killed within their scan",
	[SEEN_ANSWERS_HEARD] = "times that a sender heard one",
	[SEEN_ANSWERS_LATE] = "that were too late, and dropped",
	[SEEN_ANSWERS_LOGGED] = "that a log has",
	[SEEN_ANSWERS_AGAIN] = "that were made once more of a log's readouts",
	[SEEN_IMAGES_STORED] = "images that were stored",
	[SEEN_IMAGES_TAKEN] = "that a taker has had",
	[SEEN_IMAGES_TWICE] = "once more, where it may",
	[SEEN_IMAGES_TOLD] = "times that one that asks was told of some that are gone",
	[SEEN_IMAGES_NAMED] = "takers that lack some, which were counted",
	[SEEN_EMIT_STALLED] = "emits that were replaced since they hung",
	[SEEN_STEP_USED] = "images that a step had, and made anew",
	[SEEN_STEP_NUMBERED] = "of which it gave numbers alone",
	[SEEN_STEP_LATE] = "for which it was late",
	[SEEN_STEP_DIED] = "for which it had died",
	[SEEN_STEP_HUNG] = "for which it was cut off since it hung",
	[SEEN_STEP_WRONG] = "for which it gave what is not taken",
	[SEEN_STEP_WITHOUT] = "that it did not get: it was not there, or busy",
};

const char *totals_state(unsigned state)
{
	return state == BS_STATES ? "(dead)" : bs_state_name((enum bs_state)state);
}

const char *totals_seen(enum sim_seen what)
{
	return seen[what];
}

void totals_add(struct sim_totals *to, const struct sim_totals *from)
{
	if (from->schedules == 0)
		return;
	if (to->schedules == 0 || from->fewest_steps < to->fewest_steps)
		to->fewest_steps = from->fewest_steps;
	if (to->schedules == 0 || from->fewest_faults < to->fewest_faults)
		to->fewest_faults = from->fewest_faults;
	if (from->longest_ns > to->longest_ns)
		to->longest_ns = from->longest_ns;
	to->schedules += from->schedules;
	to->failed += from->failed;
	to->steps += from->steps;
	to->faults += from->faults;
	to->scans += from->scans;
	for (unsigned i = 0; i < FAULTS; i++)
		for (unsigned s = 0; s < STATES; s++)
			to->fault[i][s] += from->fault[i][s];
	for (unsigned i = 0; i < SEEN_MAX; i++)
		to->seen[i] += from->seen[i];
	for (unsigned i = 0; i < PLACES_MAX; i++) {
		to->reached[i] |= from->reached[i];
		to->killed[i] += from->killed[i];
	}
}

static void print_faults(const struct sim_totals *t)
{
	printf("# schedules of %llu in which the fault struck while ingest was\n# %-28s",
	       (unsigned long long)t->schedules, "");
	for (unsigned s = 0; s < STATES; s++)
		printf(" %9s", totals_state(s));
	printf("\n");
	for (unsigned i = 0; i < FAULTS; i++) {
		printf("# %-28s", faults_name((enum sim_fault)i));
		for (unsigned s = 0; s < STATES; s++)
			printf(" %9llu", (unsigned long long)t->fault[i][s]);
		printf("\n");
	}
}

/* A header's place is in each source that includes it: it is one here. */
static bool is_first(uint32_t i)
{
	const struct sim_place *p = places_get(i);

	for (uint32_t j = 0; j < i; j++)
		if (places_get(j)->line == p->line && strcmp(places_get(j)->file, p->file) == 0)
			return false;
	return true;
}

struct row {
	const char *file;
	unsigned places, reached, killed;
	uint64_t kills;
};

static void count_place(struct row *r, const struct sim_totals *t, uint32_t i, bool each)
{
	const struct sim_place *p = places_get(i);
	uint64_t kills = 0;
	bool reached = false;

	for (uint32_t j = i; j < places_count(); j++)
		if (places_get(j)->line == p->line && strcmp(places_get(j)->file, p->file) == 0) {
			reached = reached || t->reached[j];
			kills += t->killed[j];
		}
	r->places++;
	r->reached += reached;
	r->killed += kills > 0;
	r->kills += kills;
	if (each && reached && kills == 0)
		printf("#   never killed at %s:%u\n", p->file, p->line);
}

static void print_places(const struct sim_totals *t, bool each)
{
	static struct row row[FILES];
	unsigned rows = 0;

	printf("# places (stores for other processes, calls of the system) of\n# %-28s %9s %9s "
	       "%9s %9s\n",
	       "", "all", "reached", "killed at", "kills");
	for (uint32_t i = 0; i < places_count(); i++) {
		unsigned r = 0;

		if (!is_first(i))
			continue;
		while (r < rows && strcmp(row[r].file, places_get(i)->file) != 0)
			r++;
		if (r == FILES)
			continue;
		rows += r == rows;
		row[r].file = places_get(i)->file;
		count_place(&row[r], t, i, each);
	}
	for (unsigned r = 0; r < rows; r++)
		printf("# %-28s %9u %9u %9u %9llu\n", row[r].file, row[r].places, row[r].reached,
		       row[r].killed, (unsigned long long)row[r].kills);
}

void totals_print(const struct sim_totals *t, bool places)
{
	print_faults(t);
	printf("# by the books\n");
	for (unsigned i = 0; i < SEEN_MAX; i++)
		printf("# %12llu %s\n", (unsigned long long)t->seen[i], seen[i]);
	print_places(t, places);
}
