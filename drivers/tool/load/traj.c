/* drivers/tool/load/traj.c - see traj.h */
#include "drivers/tool/load/traj.h"

#include <inttypes.h>
#include <string.h>

#include "core/frame/kind.h"
#include "core/tool/trajcheck.h"
#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/recording.h"
#include "ipc/wire/xml.h"

static const char axes[] = "xyz";

/* Puts the file's name before a reason that does not know it. */
static int in_file(const char *path, int code, const struct bs_fail *inner, struct bs_fail *why)
{
	return bs_fail(why, code, "%s: %s", path, inner->text);
}

static int check_header(const struct bs_protocol *p, const char *path, const char *xml,
			struct bs_fail *why)
{
	struct bs_scan_info info;
	struct bs_fail inner;
	int rc = bs_mrdxml_read(&info, xml, strlen(xml), &inner);

	if (rc != 0)
		return in_file(path, rc, &inner, why);
	for (int a = 0; a < 3; a++)
		if (info.encoded[a] != bs_protocol_encoded_axis(p, (uint32_t)a))
			return bs_fail(why, BS_ERR_SIZE,
				       "%s: encodedSpace/matrixSize/%c is %u, protocol '%s' has %u",
				       path, axes[a], info.encoded[a], p->name,
				       bs_protocol_encoded_axis(p, (uint32_t)a));
	if (info.trajectory_unit[0] != '\0' &&
	    strcmp(info.trajectory_unit, bs_traj_units[p->traj.unit]) != 0)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "%s: trajectory_units is '%s', protocol '%s' declares '%s'", path,
			       info.trajectory_unit, p->name, bs_traj_units[p->traj.unit]);
	return 0;
}

static bool of_first_frame(const struct bs_mrd_acq *h)
{
	return bs_mrd_kind(h->flags) == BS_KIND_IMAGING && h->number_of_samples > 0 &&
	       h->encoding_space_ref == 0 && h->idx.slice == 0 && h->idx.contrast == 0 &&
	       h->idx.repetition == 0 && h->idx.average == 0 && h->idx.phase == 0 &&
	       h->idx.set == 0;
}

/* Puts one sample into the table. what: "acquisition" or "readout", for the reason. */
static int put_sample(struct bs_traj *t, const struct bs_protocol *p, uint32_t readout,
		      uint32_t sample, const float *k, uint32_t dims, const char *what,
		      uint32_t which, struct bs_fail *why)
{
	memcpy(t->k + ((size_t)readout * t->samples + sample) * t->dims, k, t->dims * sizeof(*k));
	for (uint32_t a = t->dims; a < dims; a++)
		if (!p->traj.third_ignored && !(k[a] == 0.0f))
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "%s: %s %u: sample %u has k%c = %g in a 2D protocol "
				       "(trajectory.third_ignored is false)",
				       p->traj.file, what, which, sample, axes[a], (double)k[a]);
	return 0;
}

static int put_acquisition(struct bs_traj *t, const struct bs_protocol *p, uint32_t readout,
			   uint32_t index, const struct bs_recorded *acq, struct bs_fail *why)
{
	const struct bs_mrd_acq *h = &acq->head;
	uint32_t discarded = (uint32_t)h->discard_pre + h->discard_post;
	uint32_t dims = h->trajectory_dimensions;
	int rc = 0;

	if (h->number_of_samples < discarded || h->number_of_samples - discarded != t->samples)
		return bs_fail(
			why, BS_ERR_SIZE,
			"%s: acquisition %u: %u samples less %u discarded, protocol '%s' has %u",
			p->traj.file, index, h->number_of_samples, discarded, p->name, t->samples);
	if (dims < t->dims || dims > 3)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "%s: acquisition %u: %u trajectory dimensions, protocol '%s' has %u",
			       p->traj.file, index, dims, p->name, t->dims);
	for (uint32_t s = 0; rc == 0 && s < t->samples; s++)
		rc = put_sample(t, p, readout, s, acq->traj + (size_t)(h->discard_pre + s) * dims,
				dims, "acquisition", index, why);
	t->step1[readout] = h->idx.kspace_encode_step_1;
	t->step2[readout] = h->idx.kspace_encode_step_2;
	return rc;
}

static int load_recording(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_recording *r;
	struct bs_recorded acq;
	uint32_t have = 0;
	int rc = bs_recording_open(&r, p->traj.file, why);

	if (rc != 0)
		return rc;
	rc = check_header(p, p->traj.file, bs_recording_xml(r), why);
	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(r); i++) {
		if (have == t->readouts && !p->by_header)
			break;
		rc = bs_recording_read(r, i, &acq, why);
		if (rc != 0 || !of_first_frame(&acq.head))
			continue;
		rc = have < t->readouts ? put_acquisition(t, p, have, i, &acq, why)
					: bs_fail(why, BS_ERR_SIZE,
						  "%s: more than readouts_max %u imaging "
						  "acquisitions of one frame",
						  p->traj.file, t->readouts);
		have++;
	}
	(void)bs_recording_close(r, NULL);
	if (rc == 0 && p->by_header && have > 0)
		t->readouts = have;
	if (rc == 0 && have < t->readouts)
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s: %u imaging acquisitions of slice 0, contrast 0, repetition 0; "
			     "protocol '%s' has %u readouts",
			     p->traj.file, have, p->name, t->readouts);
	return rc;
}

static int put_array(struct bs_traj *t, const struct bs_protocol *p, const struct bs_cfl *c,
		     struct bs_fail *why)
{
	uint32_t dims = (uint32_t)c->dims[0];

	for (uint32_t r = 0; r < t->readouts; r++) {
		t->step1[r] = (uint16_t)(r % c->dims[2]);
		t->step2[r] = (uint16_t)(r / c->dims[2]);
		for (uint32_t s = 0; s < t->samples; s++) {
			const float *at = c->data + ((size_t)r * t->samples + s) * dims * 2;
			float k[3];
			int rc;

			for (uint32_t a = 0; a < dims; a++) {
				k[a] = at[2 * (size_t)a];
				if (!(at[2 * a + 1] == 0.0f))
					return bs_fail(
						why, BS_ERR_TRAJECTORY,
						"%s: readout %u: sample %u: k%c has the imaginary "
						"part %g",
						p->traj.file, r, s, axes[a], (double)at[2 * a + 1]);
			}
			rc = put_sample(t, p, r, s, k, dims, "readout", r, why);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

static int load_array(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_cfl c;
	int rc = bs_cfl_read(&c, p->traj.file, why);

	if (rc != 0)
		return rc;
	if (p->by_header && c.dims[0] > 0 && c.size / c.dims[0] / t->samples > 0 &&
	    c.size / c.dims[0] / t->samples < t->readouts)
		t->readouts = (uint32_t)(c.size / c.dims[0] / t->samples);
	if (c.dims[0] == 0 || c.dims[0] < t->dims || c.dims[0] > 3 || c.dims[1] == 0 ||
	    c.dims[2] == 0)
		rc = bs_fail(why, BS_ERR_TRAJECTORY,
			     "%s: dimension 0 is %" PRIu64
			     " (of [dims, samples, readouts]), protocol "
			     "'%s' has %u",
			     p->traj.file, c.dims[0], p->name, t->dims);
	else if (c.dims[1] != t->samples || c.size != c.dims[0] * t->samples * t->readouts)
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s: %" PRIu64 " samples in %" PRIu64
			     " readouts, protocol '%s' has %u in %u",
			     p->traj.file, c.dims[1], c.size / c.dims[0] / c.dims[1], p->name,
			     t->samples, t->readouts);
	else if (c.dims[2] > 65536 || t->readouts / c.dims[2] > 65536)
		rc = bs_fail(why, BS_ERR_SIZE,
			     "%s: [%" PRIu64 ", %" PRIu64
			     "] readouts cannot be told by 16-bit counters",
			     p->traj.file, c.dims[2], t->readouts / c.dims[2]);
	else
		rc = put_array(t, p, &c, why);
	bs_cfl_free(&c);
	return rc;
}

int bs_trajfile_load(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	size_t n = strlen(p->traj.file);
	bool array = n > 4 && strcmp(p->traj.file + n - 4, ".cfl") == 0;
	int rc = bs_traj_open(t, p->dims, p->samples, p->readouts, why);

	if (rc != 0)
		return rc;
	rc = array ? load_array(t, p, why) : load_recording(t, p, why);
	if (rc == 0) {
		struct bs_protocol found = *p;
		struct bs_fail inner;

		found.readouts = t->readouts;
		rc = bs_traj_check(t, &found, &inner);
		if (rc != 0)
			(void)in_file(p->traj.file, rc, &inner, why);
	}
	if (rc != 0)
		bs_traj_close(t);
	return rc;
}
