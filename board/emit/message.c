/* board/emit/message.c - see message.h */
#include "board/emit/message.h"

#include <string.h>

#include "core/memory/pools.h"
#include "ipc/wire/bytes.h"
#include "ipc/wire/mrd.h"
#include "ipc/wire/wire.h"

/* Returns the image's times for its attributes; passed_ns: the latest of them. */
static struct bs_image_timing timing_of(const struct bs_image_meta *m, int64_t passed_ns)
{
	return (struct bs_image_timing){ .latency_ns = passed_ns - m->from_ns,
					 .sender_ns = m->sender_ns,
					 .received_ns = m->image.last_ns,
					 .handed_ns = m->acq_handed_ns,
					 .taken_ns = m->taken_ns,
					 .added_ns = m->added_ns,
					 .begun_ns = m->begun_ns,
					 .made_ns = m->made_ns,
					 .passed_ns = passed_ns,
					 .step = m->step.verdict != BS_STEP_NONE ? &m->step : NULL,
					 .rung = m->rung };
}

struct bs_message bs_message_of(const struct bs_image_meta *m, unsigned char *pixels)
{
	size_t head = BS_WIRE_BYTES + BS_MRD_IMAGE_BYTES + 8 + (size_t)m->attributes_len;

	return (struct bs_message){ pixels - head, head + (size_t)m->pixel_bytes };
}

struct bs_wire bs_message_wire(const struct bs_image_meta *m)
{
	return (struct bs_wire){ .kind = BS_WIRE_IMAGE,
				 .session = m->session,
				 .seq = m->image.number + (m->image.preview ? BS_WIRE_PREVIEWS : 0),
				 .time_ns = m->handed_ns };
}

uint32_t bs_message_stages_missed(const struct bs_image_meta *m, const struct bs_protocol *p,
				  int64_t until_ns)
{
	struct bs_image_timing t = timing_of(m, until_ns);
	int64_t stage_ns[BS_BUDGET_STAGES];

	bs_image_stages(&t, &m->image.report, until_ns, stage_ns);
	return bs_budget_stages_missed(p, stage_ns);
}

/* Writes attributes, head, and the message's text of both, with the times up to passed_ns. */
static int write_words(struct bs_image_meta *m, const struct bs_message_env *env,
		       unsigned char *pixels, int64_t passed_ns)
{
	char xml[BS_POOLS_ATTRIBUTES];
	struct bs_image_timing timing = timing_of(m, passed_ns);
	unsigned char *payload;
	int n;
	int rc;

	timing.gaps = env->gaps;
	timing.duplicates = env->duplicates;
	timing.rejected = env->rejected;
	rc = bs_attributes_write(m->attributes, sizeof(m->attributes), env->p, m->engine, &m->image,
				 &timing, env->about);
	bs_attributes_fill(&m->image.head, env->p, &m->image, &timing);
	if (rc != 0 || env->unsent)
		return rc;
	n = bs_attributes_xml(xml, sizeof(xml), m->attributes);
	if (n < 0)
		return n;
	m->attributes_len = m->image.head.attribute_string_len = (uint32_t)n;
	payload = bs_message_of(m, pixels).at + BS_WIRE_BYTES;
	bs_mrd_put_image(payload, &m->image.head);
	bs_put_le(payload + BS_MRD_IMAGE_BYTES, (uint64_t)n, 8);
	memcpy(payload + BS_MRD_IMAGE_BYTES + 8, xml, (size_t)n);
	return 0;
}

/* True if nothing has become late between passed_ns and the time when the image was handed on. */
static bool agrees(const struct bs_image_meta *m, const struct bs_protocol *p, int64_t passed_ns)
{
	return m->image.preview ||
	       (bs_budget_missed(p, &m->image.report, passed_ns - m->from_ns) ==
			bs_budget_missed(p, &m->image.report, m->handed_ns - m->from_ns) &&
		bs_message_stages_missed(m, p, passed_ns) ==
			bs_message_stages_missed(m, p, m->handed_ns));
}

int bs_message_make(struct bs_image_meta *m, const struct bs_message_env *env,
		    unsigned char *pixels, int64_t taken_ns)
{
	int64_t passed = taken_ns;
	struct bs_wire w;
	struct bs_wire_sum sum;

	m->pixel_bytes = bs_message_pixels(env->p, m);
	for (;;) {
		int rc = write_words(m, env, pixels, passed);

		if (rc != 0 && m->step.numbers > 0 && m->step.numbers <= BS_STEP_NUMBERS_MAX) {
			m->step.numbers = BS_STEP_LEFT_OUT;
			continue;
		}
		if (rc != 0)
			return rc;
		struct bs_message msg = bs_message_of(m, pixels);

		if (!env->unsent)
			bs_wire_sum(&sum, msg.at + BS_WIRE_BYTES, msg.len - BS_WIRE_BYTES);
		m->handed_ns = env->now();
		w = bs_message_wire(m);
		if (!env->unsent)
			bs_wire_seal(msg.at, &w, &sum);
		if (agrees(m, env->p, passed))
			return 0;
		passed = m->handed_ns;
	}
}
