/*
 * board/tool/init/choose.h - from what a recording holds to the protocol that reconstructs it
 *
 * Pure: no file is read. choose fills the outline with name, method, sizes, frames and what a scan
 * brings beside its lines, each with its reason; it says what it assumed. BS_ERR_UNSUPPORTED: no
 * protocol can take such a scan, and why.
 * retreat: such an outline was refused with this code: the next one to try, or false where there
 * is none; what is given up is said.
 * Tests: test/unit/board/tool/init/test_choose.c, test/replay/init
 */
#ifndef BS_BOARD_TOOL_INIT_CHOOSE_H
#define BS_BOARD_TOOL_INIT_CHOOSE_H

#include <string.h>

#include "board/tool/init/outline.h"
#include "board/tool/init/survey.h"

struct bs_choice {
	const struct bs_survey *survey;
	const char *recording;  /* its absolute path, for trajectory.file */
	struct bs_outline *out; /* zeroed */
};

int bs_choose(const struct bs_choice *c, struct bs_fail *why);
bool bs_choose_retreat(const struct bs_choice *c, const struct bs_fail *refused);

/* The header's word says lines of a grid. */
static inline bool bs_choose_on_header(const struct bs_survey *s)
{
	return strcmp(s->info.trajectory_name, "cartesian") == 0 ||
	       strcmp(s->info.trajectory_name, "epi") == 0;
}
/* Of a scan on the grid (choose_grid.c), along paths (choose_path.c). */
int bs_choose_grid(const struct bs_choice *c, struct bs_fail *why);
int bs_choose_path(const struct bs_choice *c, struct bs_fail *why);
/*
 * What the matrix keeps of encodedSpace along an axis, its oversampling included: as much as
 * reconSpace does.
 */
uint32_t bs_choose_kept(const struct bs_survey *s, int a, uint32_t oversampling);
/* Matrix of the image that leaves, of a matrix [x, y, z] (choose_image.c). */
void bs_choose_image(const struct bs_choice *c, const uint32_t matrix[3]);
/* Slots of the readouts' pool that take no more than about 256 MiB; 0: the default does. */
uint32_t bs_choose_slots(const struct bs_survey *s);

#endif
