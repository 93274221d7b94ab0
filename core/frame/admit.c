/* core/frame/admit.c - checks a scan's header against its protocol; see recon.h */
#include "core/frame/recon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/flow/flow.h"
#include "core/frame/geometry.h"
#include "core/frame/open.h"
#include "core/volume/stack.h"
#include "core/protocol.h"

static const char axes[] = "xyz";

/* ---- the field of view: see geometry.h ---- */

/*
 * Returns true if the scan has one partition, so that reconSpace's z is the thickness of the slice.
 */
static bool is_slice(const struct bs_scan_info *info, int a)
{
	return a == 2 && info->encoded[2] == 1 && info->fov_mm[2] > 0.0f &&
	       info->fov_mm[2] < info->encoded_fov_mm[2];
}

/* mm that the protocol's matrix covers with the header's voxels; 0: the header does not say. */
static double by_header(const struct bs_protocol *p, const struct bs_scan_info *info, int a)
{
	if (is_slice(info, a))
		return (double)info->fov_mm[2];
	return info->encoded[a] > 0 && info->encoded_fov_mm[a] > 0.0f
		       ? (double)info->encoded_fov_mm[a] * p->matrix[a] / info->encoded[a]
		       : 0.0;
}

void bs_geometry_fov(float fov_mm[3], const struct bs_protocol *p, const struct bs_scan_info *info)
{
	for (int a = 0; a < 3; a++) {
		const double mm = by_header(p, info, a);

		fov_mm[a] = mm > 0.0 ? (float)mm : p->fov_mm[a];
	}
}

void bs_geometry_other(float fov_mm[3], const struct bs_protocol *p,
		       const struct bs_mrd_encoding *e)
{
	struct bs_scan_info info = { 0 };

	memcpy(info.encoded, e->encoded, sizeof(info.encoded));
	memcpy(info.encoded_fov_mm, e->encoded_fov_mm, sizeof(info.encoded_fov_mm));
	memcpy(info.fov_mm, e->fov_mm, sizeof(info.fov_mm));
	for (int a = 0; a < 3; a++)
		fov_mm[a] = (float)by_header(p, &info, a);
}

int bs_geometry_check(const struct bs_protocol *p, const struct bs_scan_info *info,
		      struct bs_fail *why)
{
	const float *fov_mm = info->encoded_fov_mm;

	if (fov_mm[0] > 0.0f && fov_mm[0] < 1.0f && fov_mm[1] > 0.0f && fov_mm[1] < 1.0f)
		return bs_fail(why, BS_ERR_SIZE,
			       "encodedSpace/fieldOfView_mm is %g x %g: less than a millimeter, as "
			       "if it were said in meters",
			       (double)fov_mm[0], (double)fov_mm[1]);
	for (int a = 0; a < 3; a++) {
		const double mm = by_header(p, info, a);
		const double recon_mm = (double)info->fov_mm[a];
		const uint32_t leaves = bs_protocol_image_axis(p, a);

		if (mm == 0.0)
			continue;
		if (p->fov_mm[a] > 0.0f && fabs((double)p->fov_mm[a] - mm) > 1e-3 * mm)
			return bs_fail(why, BS_ERR_SIZE,
				       "fov_mm %c of protocol '%s' is %g, but its %u voxels cover "
				       "%g mm: %s has %u over %g mm",
				       axes[a], p->name, (double)p->fov_mm[a], p->matrix[a], mm,
				       is_slice(info, a) ? "reconSpace" : "encodedSpace",
				       info->encoded[a],
				       is_slice(info, a) ? mm : (double)info->encoded_fov_mm[a]);
		if (p->fov_mm[a] > 0.0f || !p->plan.on_grid || info->encoded[a] == 1 ||
		    info->recon[a] != leaves || recon_mm == 0.0)
			continue;
		if (fabs(recon_mm - mm) > (1.0 / info->encoded[a] + 1e-3) * mm)
			return bs_fail(
				why, BS_ERR_SIZE,
				"%c of the image: its %u voxels cover %g mm by encodedSpace and %g "
				"mm by reconSpace; fov_mm of protocol '%s' must say %g, or the "
				"header is wrong",
				axes[a], leaves, mm, recon_mm, p->name, mm);
	}
	return 0;
}

const char *bs_geometry_words(char words[BS_GEOMETRY_WORDS], const struct bs_protocol *p,
			      const struct bs_scan_info *info)
{
	float fov_mm[3];
	char which[8];
	int n = 0;

	bs_geometry_fov(fov_mm, p, info);
	for (int a = 0; a < 3; a++)
		if (!(fov_mm[a] > 0.0f))
			which[n++] = axes[a];
	which[n] = '\0';
	words[0] = '\0';
	if (n > 0)
		(void)snprintf(words, BS_GEOMETRY_WORDS,
			       "the images' field of view is 0 along %s: neither encodedSpace of "
			       "the header nor fov_mm of protocol '%.32s' says it",
			       which, p->name);
	return words;
}

/* ---- the header ---- */

bool bs_admit_ramps(const struct bs_scan_info *info)
{
	return strcmp(info->trajectory_name, "epi") == 0 &&
	       strcmp(info->description, "ConventionalEPI") == 0 && info->ramp_up_us > 0.0f &&
	       info->acquisition_delay_us < info->ramp_up_us;
}

/*
 * Checks readouts on ramps: they need epi.correct, and a trapezoid that core/traj/trapezoid.h can
 * describe.
 */
static int check_ramps(const struct bs_protocol *p, const struct bs_scan_info *info,
		       struct bs_fail *why)
{
	const double half = 0.5 * info->readout_samples * info->readout_dwell_us;
	const double middle = info->ramp_up_us + 0.5 * info->flat_us;

	if (!bs_admit_ramps(info) || p->plan.encode == BS_ENCODE_NOTHING)
		return 0;
	if (!bs_plan_has(&p->plan, BS_PLAN_EPI))
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "trajectoryDescription: readouts begin %g us into a ramp of %g us, "
			       "and epi.correct of protocol '%s' is false",
			       (double)info->acquisition_delay_us, (double)info->ramp_up_us,
			       p->name);
	if ((double)info->readout_samples != p->encoded[0] || p->samples != p->encoded[0])
		return bs_fail(why, BS_ERR_SIZE,
			       "trajectoryDescription/numSamples is %g, protocol '%s' has readouts "
			       "of %u samples for %u",
			       (double)info->readout_samples, p->name, p->samples, p->encoded[0]);
	if (info->ramp_up_us != info->ramp_down_us || !(half > 0.0) || half > middle ||
	    fabs(info->acquisition_delay_us + half - middle) > info->readout_dwell_us)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "trajectoryDescription: %g samples each %g us from %g us on do not "
			       "lie around the middle of a gradient of %g + %g + %g us",
			       (double)info->readout_samples, (double)info->readout_dwell_us,
			       (double)info->acquisition_delay_us, (double)info->ramp_up_us,
			       (double)info->flat_us, (double)info->ramp_down_us);
	return 0;
}

/* Refuses a scan whose left-out lines would be made from another scan's calibration. */
static int check_calibration(const struct bs_protocol *p, const struct bs_scan_info *info,
			     struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;

	if (info->calibration != BS_CALIBRATION_EXTERNAL || !plan->own_calibration ||
	    (info->acceleration[0] <= 1 && info->acceleration[1] <= 1 &&
	     !bs_plan_has(plan, BS_PLAN_APART)))
		return 0;
	return bs_fail(why, BS_ERR_CALIBRATION,
		       "parallelImaging/calibrationMode is 'external' at acceleration %u x %u%s: "
		       "protocol '%s' calibrates by lines of the scan itself",
		       info->acceleration[0], info->acceleration[1],
		       bs_plan_has(plan, BS_PLAN_APART) ? ", slices at once" : "", p->name);
}

static int check_bands(const struct bs_protocol *p, const struct bs_scan_info *info,
		       struct bs_fail *why)
{
	if (!bs_plan_has(&p->plan, BS_PLAN_APART) || info->bands == 0 ||
	    info->bands == p->multiband.factor)
		return 0;
	return bs_fail(why, BS_ERR_SIZE,
		       "parallelImaging/multiband is of %u slice%s at once, multiband.factor of "
		       "protocol '%s' is %u",
		       info->bands, info->bands == 1 ? "" : "s", p->name, p->multiband.factor);
}

static bool header_on_grid(const struct bs_plan *plan, const struct bs_scan_info *info)
{
	return strcmp(info->trajectory_name, "cartesian") == 0 ||
	       (strcmp(info->trajectory_name, "epi") == 0 && plan->encode == BS_ENCODE_LINES);
}

/* Readouts may be lines of the grid, whose samples show their oversampling. */
static bool is_line(const struct bs_plan *plan, const struct bs_scan_info *info)
{
	return info->trajectory_name[0] == '\0' || header_on_grid(plan, info);
}

int bs_admit_scan(const struct bs_protocol *p, const struct bs_scan_info *info, struct bs_fail *why)
{
	static int (*const checks[])(const struct bs_protocol *, const struct bs_scan_info *,
				     struct bs_fail *) = { check_ramps,       bs_stack_admit,
							   bs_scankey_admit,  bs_flow_admit,
							   check_calibration, check_bands,
							   bs_geometry_check };
	int rc = 0;
	/*
	 * For a non-Cartesian header reconSpace is only a wish; encodedSpace fixes the unit of k.
	 */
	const struct bs_plan *plan = &p->plan;

	if (plan->passes)
		return bs_fail(why, BS_ERR_PROTOCOL,
			       "protocol '%s' passes the images of MRD clients through and "
			       "reconstructs none: it takes no scan",
			       p->name);
	for (uint32_t a = 0; a < 3; a++) {
		const uint32_t want = bs_protocol_encoded_axis(p, a);

		if (info->encoded[a] != want && !(a == 0 && plan->on_grid && is_line(plan, info) &&
						  bs_readout_oversampled(p, info) > 1))
			return bs_fail(why, BS_ERR_SIZE,
				       "encodedSpace/matrixSize/%c is %u, protocol '%s' has %u",
				       "xyz"[a], info -> encoded[a], p -> name, want);
	}
	/* converters write how many channels a receiver has; a scan's lines may have fewer */
	if (info->channels != 0 && info->channels < p->coils)
		return bs_fail(why, BS_ERR_SIZE, "receiverChannels is %u, protocol '%s' has %u",
			       info->channels, p->name, p->coils);
	if (!plan->on_grid && info->trajectory_unit[0] != '\0' &&
	    strcmp(info->trajectory_unit, bs_traj_units[p->traj.unit]) != 0)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "trajectory_units is '%s', protocol '%s' declares '%s'",
			       info->trajectory_unit, p->name, bs_traj_units[p->traj.unit]);
	/* paths, of readouts or a table, say more than the header's word */
	if (header_on_grid(plan, info) != plan->on_grid && info->trajectory_name[0] != '\0' &&
	    plan->encode != BS_ENCODE_NOTHING &&
	    (plan->on_grid || !(plan->streams || plan->from_file)))
		return bs_fail(
			why, BS_ERR_TRAJECTORY,
			"encoding/trajectory is '%s', which protocol '%s' does not reconstruct",
			info->trajectory_name, p->name);
	if (plan->on_grid && p->by_header && bs_lines_admit(p, info, why) != 0)
		return BS_ERR_SIZE;
	if (bs_plan_has(plan, BS_PLAN_AVERAGE) && info->average.given &&
	    info->average.max >= p->averages)
		return bs_fail(why, BS_ERR_SIZE,
			       "the header promises averages 0 to %u of each line, averages of "
			       "protocol '%s' is %u",
			       info->average.max, p->name, p->averages);
	if (bs_plan_has(plan, BS_PLAN_ECHOES) &&
	    !(info->te_ms[0] > 0.0f && info->te_ms[1] > 0.0f && info->te_ms[0] != info->te_ms[1]))
		return bs_fail(why, BS_ERR_CALIBRATION,
			       "field.from echoes of protocol '%s': sequenceParameters/TE of the "
			       "header are %g and %g ms, not two echo times",
			       p->name, (double)info->te_ms[0], (double)info->te_ms[1]);
	for (size_t i = 0; rc == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		rc = checks[i](p, info, why);
	return rc;
}

const char *bs_admit_words(char words[BS_ADMIT_WORDS], const struct bs_protocol *p,
			   const struct bs_scan_info *info)
{
	char geometry[BS_GEOMETRY_WORDS];
	char open[BS_OPEN_WORDS];

	(void)bs_geometry_words(geometry, p, info);
	(void)bs_open_words(open, sizeof(open), p, info);
	(void)snprintf(words, BS_ADMIT_WORDS, "%s%s%s", geometry,
		       geometry[0] != '\0' && open[0] != '\0' ? "; " : "", open);
	return words;
}
