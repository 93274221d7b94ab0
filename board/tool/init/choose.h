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
	const char *recording;  /* absolute path of the recording, for trajectory.file */
	struct bs_outline *out; /* outline to fill in, zeroed */
};

int bs_choose(const struct bs_choice *c, struct bs_fail *why);
bool bs_choose_retreat(const struct bs_choice *c, const struct bs_fail *refused);

/* True if the header says that the lines are those of a grid. */
static inline bool bs_choose_on_header(const struct bs_survey *s)
{
	return strcmp(s->info.trajectory_name, "cartesian") == 0 ||
	       strcmp(s->info.trajectory_name, "epi") == 0;
}
/* Choose for a scan on the grid (choose_grid.c) or along paths (choose_path.c). */
int bs_choose_grid(const struct bs_choice *c, struct bs_fail *why);
int bs_choose_path(const struct bs_choice *c, struct bs_fail *why);
/*
 * Returns the matrix along an axis: the part of encodedSpace, oversampling included, that
 * reconSpace keeps.
 */
uint32_t bs_choose_kept(const struct bs_survey *s, int a, uint32_t oversampling);
/* Puts the matrix of the images that leave, made from a matrix [x, y, z] (choose_image.c). */
void bs_choose_image(const struct bs_choice *c, const uint32_t matrix[3]);
/* Returns slots for readouts that take no more than about 256 MiB; 0: the default takes less. */
uint32_t bs_choose_slots(const struct bs_survey *s);

#endif
