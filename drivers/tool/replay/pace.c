/* drivers/tool/replay/pace.c - see pace.h */
#include "drivers/tool/replay/pace.h"

#define TICK_US 2500.0 /* customary length of a tick of acquisition_time_stamp */

double bs_pace_duration_us(const struct bs_mrd_acq *a)
{
	double us = (double)a->sample_time_us * a->number_of_samples;

	return us > 0.0 && us < 1e9 ? us : 0.0;
}

double bs_pace_step_us(enum bs_replay_clock clock, const struct bs_mrd_acq *from,
		       const struct bs_mrd_acq *to)
{
	int32_t step;

	switch (clock) {
	case BS_REPLAY_MICROSECONDS:
		step = (int32_t)((uint32_t)to->user_int[0] - (uint32_t)from->user_int[0]);
		return step > 0 ? step : 0.0;
	case BS_REPLAY_TICKS:
		step = (int32_t)(to->acquisition_time_stamp - from->acquisition_time_stamp);
		return step > 0 ? step * TICK_US : 0.0;
	default:
		return bs_pace_duration_us(from);
	}
}

const char *bs_replay_clock_name(enum bs_replay_clock clock)
{
	switch (clock) {
	case BS_REPLAY_MICROSECONDS:
		return "user_int[0], microseconds";
	case BS_REPLAY_TICKS:
		return "acquisition_time_stamp, ticks of 2.5 ms";
	default:
		return "sampling times back to back: the recording has no time stamps";
	}
}
