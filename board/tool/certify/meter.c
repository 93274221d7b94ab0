/* board/tool/certify/meter.c - see meter.h */
#include "board/tool/certify/meter.h"

#include <stdio.h>
#include <string.h>

#define IDLE_NS INT64_C(2000000000)

static void give_up(struct bs_meter *m, const struct bs_fail *why)
{
	m->seen->gpus = 0;
	(void)snprintf(m->seen->why, sizeof(m->seen->why), "%.255s", why->text);
	bs_energy_close(&m->energy);
}

void bs_meter_open(struct bs_meter *m, struct bs_meter_seen *seen, const char *library,
		   const struct bs_machine *machine, const char *engine)
{
	struct bs_fail why;

	memset(m, 0, sizeof(*m));
	memset(seen, 0, sizeof(*seen));
	m->seen = seen;
	if (machine->gpus == 0 || strstr(engine, "/cuda") == NULL)
		return;
	seen->gpus = machine->gpus;
	if (bs_energy_open(&m->energy, library, machine->bus, machine->gpus, &why) != 0 ||
	    bs_energy_asleep(&m->energy, IDLE_NS, &seen->idle, &why) != 0)
		give_up(m, &why);
}

void bs_meter_start(struct bs_meter *m)
{
	struct bs_fail why;

	if (m->energy.devices > 0 && bs_energy_read(&m->energy, &m->from, &why) != 0)
		give_up(m, &why);
}

void bs_meter_stop(struct bs_meter *m, struct bs_energy_span *span)
{
	struct bs_fail why;

	if (m->energy.devices > 0 && bs_energy_since(&m->energy, &m->from, span, &why) != 0)
		give_up(m, &why);
}

void bs_meter_close(struct bs_meter *m)
{
	bs_energy_close(&m->energy);
}
