/* config/rules.c - see rules.h */
#include "config/rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/frame/kind.h"
#include "core/latency/budget.h"
#include "core/memory/pools.h"
#include "core/traj/traj.h"

static const char axes[] = "xyz";

static size_t row(const struct bs_scope *s, const char *path)
{
	const struct bs_key *key = bs_key_find(s->scope, path);

	if (key == NULL) /* a rule names a key that the table lacks: the tests run every rule */
		abort();
	return (size_t)(key - bs_keys);
}

static bool given(const struct bs_scope *s, const char *path)
{
	return s->at[row(s, path)] != 0;
}

/* None of these keys (the list ends with NULL) is faulty. */
static bool sound(const struct bs_scope *s, ...)
{
	va_list ap;
	bool yes = true;

	va_start(ap, s);
	for (const char *p = va_arg(ap, const char *); p != NULL; p = va_arg(ap, const char *))
		yes = yes && !s->bad[row(s, p)];
	va_end(ap);
	return yes;
}

/* At the line of path; where it is not given, at that of near, the key that asks for it. */
__attribute__((format(printf, 5, 6))) static void fault_near(const struct bs_reading *r,
							     const struct bs_scope *s,
							     const char *path, const char *near,
							     const char *fmt, ...)
{
	unsigned line = s->at[row(s, path)];
	char name[160];
	char why[448];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	line = line != 0 ? line : s->at[row(s, near)];
	bs_scope_name(name, s, path);
	bs_fault(r->faults, line != 0 ? line : s->line, name, "%s", why);
}
#define fault(r, s, path, ...) fault_near(r, s, path, path, __VA_ARGS__)

static void fault_solves(const struct bs_reading *r, const struct bs_scope *s, const char *path)
{
	char solvers[64];

	fault(r, s, path, "has no effect without method %s",
	      bs_method_solvers(solvers, sizeof(solvers)));
}

void bs_rules_derive(const struct bs_scope *s, struct bs_protocol *p)
{
	if (p->dims == 0)
		p->dims = p->matrix[2] <= 1 ? 2 : 3;
	if (!given(s, "gridding.accuracy") && (p->width > 0.0 || p->oversampling > 0.0))
		p->accuracy = 0.0;
	if (!given(s, "gridding.density") &&
	    (bs_methods[p->method].weighs == BS_WEIGHS_WHEN_ASKED || bs_protocol_on_grid(p)))
		p->density = BS_DENSITY_NONE;
	if (p->whiten != BS_WHITEN_OFF)
		p->uses |= 1u << BS_KIND_NOISE;
	if (!given(s, "image.combine")) {
		if (bs_methods[p->method].uses_maps)
			p->combine = BS_COMBINE_SENSE;
		else if (p->output == BS_OUTPUT_COMPLEX)
			p->combine = BS_COMBINE_NONE;
	}
	if (!given(s, "image.matrix"))
		memcpy(p->image_matrix, p->matrix, sizeof(p->image_matrix));
}

static bool readable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return false;
	}
	return access(path, R_OK) == 0;
}

/* The file is there; a .cfl (named with or without its ending) has its .hdr beside it. */
static void file_exists(const struct bs_reading *r, const struct bs_scope *s, const char *key,
			const char *path, bool cfl)
{
	char name[BS_PATH_MAX_ + 8];
	size_t n = strlen(path);
	bool ending = n > 4 && strcmp(path + n - 4, ".cfl") == 0;

	if (!cfl) {
		if (!readable(path))
			fault(r, s, key, "%s: %s", path, strerror(errno));
		return;
	}
	(void)snprintf(name, sizeof(name), "%s%s", path, ending ? "" : ".cfl");
	if (!readable(name))
		fault(r, s, key, "%s: %s", name, strerror(errno));
	n = strlen(name) - 4;
	memcpy(name + n, ".hdr", 5);
	if (!readable(name))
		fault(r, s, key, "%s: %s", name, strerror(errno));
}

/* A file that must be given exactly where another key, where, has the word is. */
static void file_where(const struct bs_reading *r, const struct bs_scope *s, const char *key,
		       const char *path, bool wanted, const char *where, const char *is, bool cfl)
{
	if (!sound(s, key, NULL))
		return;
	if (wanted && path[0] == '\0')
		fault_near(r, s, key, where, "missing; %s %s needs it", where, is);
	else if (!wanted && path[0] != '\0')
		fault(r, s, key, "has no effect without %s %s", where, is);
	else if (wanted)
		file_exists(r, s, key, path, cfl);
}

static void rule_matrix(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_protocol *p)
{
	if (!sound(s, "matrix", "dims", NULL))
		return;
	if (p->dims == 1)
		fault(r, s, "dims", "1 is neither 2 nor 3");
	else if (p->dims == 2 && p->matrix[2] != 1)
		fault(r, s, "matrix", "z is %u: it must be 1 in 2D", p->matrix[2]);
}

static void rule_image_matrix(const struct bs_reading *r, const struct bs_scope *s,
			      const struct bs_protocol *p)
{
	if (!given(s, "image.matrix") || !sound(s, "image.matrix", "matrix", "dims", NULL))
		return;
	for (uint32_t i = 0; i < 3; i++)
		if (p->image_matrix[i] == 0)
			fault(r, s, "image.matrix", "%c is 0: outside 1 .. %u voxels", axes[i],
			      BS_AXIS_MAX);
	if (p->dims == 2 && p->image_matrix[2] > 1)
		fault(r, s, "image.matrix", "z is %u: it must be 1 in 2D", p->image_matrix[2]);
	if (p->dims == 3 && p->matrix[2] > 1 && p->image_matrix[2] == 1)
		fault(r, s, "image.matrix", "z is 1, or missing: the matrix has %u in 3D",
		      p->matrix[2]);
}

/* Images while the scan runs. */
static void rule_frame(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];
	const bool known = sound(s, "method", NULL);

	if (sound(s, "frame.preview_every", NULL) && p->preview_every > 0) {
		if (p->preview_every > p->readouts)
			fault(r, s, "frame.preview_every",
			      "%u is more than the frame's %u readouts", p->preview_every,
			      p->readouts);
		else if (known && !method->previews)
			fault(r, s, "frame.preview_every", "method %s has no previews",
			      bs_method_name(p->method));
		else if (p->frame_step > 0)
			fault(r, s, "frame.preview_every",
			      "a sliding window (frame.step) has no previews");
	}
	if (!sound(s, "frame.step", NULL) || p->frame_step == 0)
		return;
	if (p->frame_step > p->readouts)
		fault(r, s, "frame.step", "%u is more than the frame's %u readouts", p->frame_step,
		      p->readouts);
	else if (known && !method->windows)
		fault(r, s, "frame.step", "method %s has no sliding window",
		      bs_method_name(p->method));
	else if (p->readouts % p->frame_step != 0)
		fault(r, s, "frame.step", "the frame's %u readouts are no multiple of %u",
		      p->readouts, p->frame_step);
	else if (sound(s, "gridding.chunk_readouts", NULL) && p->chunk_readouts > 0 &&
		 p->frame_step % p->chunk_readouts != 0)
		fault(r, s, "gridding.chunk_readouts", "frame.step, %u, is no multiple of %u",
		      p->frame_step, p->chunk_readouts);
}

static void rule_sizes(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_protocol *p)
{
	if (sound(s, "samples", "discard", NULL) && p->samples + p->discard > 65535u)
		fault(r, s, "discard",
		      "samples and discard are %u together: an acquisition holds 65535",
		      p->samples + p->discard);
	if (sound(s, "samples", "readouts", NULL) && bs_protocol_samples(p) > BS_FRAME_SAMPLES_MAX)
		fault(r, s, "readouts", "a frame of %llu samples is beyond the limit of %llu",
		      (unsigned long long)bs_protocol_samples(p),
		      (unsigned long long)BS_FRAME_SAMPLES_MAX);
	if (sound(s, "slices", "contrasts", NULL) && p->slices * p->contrasts > BS_FRAMES_MAX)
		fault(r, s, "slices", "%u slices x %u contrasts: at most %u frames may be open",
		      p->slices, p->contrasts, BS_FRAMES_MAX);
	if (!sound(s, "readouts", NULL))
		return;
	if (sound(s, "gridding.chunk_readouts", NULL) && p->chunk_readouts > p->readouts)
		fault(r, s, "gridding.chunk_readouts", "%u is more than the frame's %u readouts",
		      p->chunk_readouts, p->readouts);
	rule_frame(r, s, p);
}

static void rule_cartesian(const struct bs_reading *r, const struct bs_scope *s,
			   const struct bs_protocol *p)
{
	if (p->traj.type != BS_TRAJ_CARTESIAN || !sound(s, "encoded", "matrix", NULL))
		return;
	if (p->encoded[0] == 0) {
		fault_near(r, s, "encoded", "method", "missing; a cartesian trajectory needs it");
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		if (p->encoded[i] < p->matrix[i])
			fault(r, s, "encoded", "%c is %u: less than the matrix's %u", axes[i],
			      p->encoded[i], p->matrix[i]);
	if (p->matrix[2] == 1 && p->encoded[2] > 1)
		fault(r, s, "encoded", "z is %u: it must be 1 in 2D", p->encoded[2]);
	if (sound(s, "samples", NULL) && p->samples > p->encoded[0])
		fault(r, s, "samples", "%u is more than encoded x, %u", p->samples, p->encoded[0]);
	if (sound(s, "readouts", NULL) &&
	    p->readouts > (uint64_t)p->encoded[1] * (p->encoded[2] > 0 ? p->encoded[2] : 1))
		fault(r, s, "readouts", "%u is more than the %u x %u lines of encoded", p->readouts,
		      p->encoded[1], p->encoded[2]);
}

static void rule_traj(const struct bs_reading *r, const struct bs_scope *s,
		      const struct bs_protocol *p)
{
	const struct bs_traj_spec *t = &p->traj;
	const char *type = bs_keys[row(s, "trajectory.type")].words[t->type];
	const uint32_t dims = bs_traj_dims(t->type);
	bool winds = t->type == BS_TRAJ_SPIRAL2D || t->type == BS_TRAJ_STACK;

	if (!sound(s, "trajectory.type", "method", NULL))
		return;
	if (!given(s, "trajectory.type") && !bs_methods[p->method].on_grid) {
		fault_near(r, s, "trajectory.type", "method", "missing");
		return;
	}
	if (bs_methods[p->method].on_grid && t->type != BS_TRAJ_CARTESIAN)
		fault(r, s, "trajectory.type", "method %s needs a cartesian trajectory, not %s",
		      bs_method_name(p->method), type);
	if (dims != 0 && sound(s, "dims", "matrix", NULL) && p->dims >= 2 && dims != p->dims)
		fault(r, s, "trajectory.type", "%s has %u dimensions, the protocol %u", type, dims,
		      p->dims);
	file_where(r, s, "trajectory.file", t->file, t->type == BS_TRAJ_FILE, "trajectory.type",
		   "file",
		   strlen(t->file) < 3 || strcmp(t->file + strlen(t->file) - 3, ".h5") != 0);
	if (sound(s, "trajectory.interleaves", NULL) && t->interleaves != 0) {
		if (!winds)
			fault(r, s, "trajectory.interleaves",
			      "has no effect without trajectory.type spiral2d or stack");
		else if (sound(s, "readouts", NULL) && p->readouts % t->interleaves != 0)
			fault(r, s, "trajectory.interleaves", "%u readouts are no multiple of %u",
			      p->readouts, t->interleaves);
	}
	if (bs_traj_delayed(t) && bs_methods[p->method].on_grid &&
	    sound(s, "trajectory.delay", "trajectory.delay_cross", NULL))
		fault_near(r, s, "trajectory.delay", "trajectory.delay_cross",
			   "has no effect with method %s: its samples lie on the grid",
			   bs_method_name(p->method));
	if (t->third_ignored && sound(s, "dims", "matrix", NULL) && p->dims != 2)
		fault(r, s, "trajectory.third_ignored", "is for 2D only");
	for (uint32_t i = 0; t->unit == BS_UNIT_RAD_PER_M && i < p->dims; i++)
		if (sound(s, "fov_mm", "matrix", "trajectory.unit", NULL) && p->fov_mm[i] <= 0.0f) {
			fault_near(r, s, "fov_mm", "trajectory.unit",
				   "%c is missing; trajectory.unit rad/m needs it", axes[i]);
			break;
		}
	rule_cartesian(r, s, p);
}

static void rule_gridding(const struct bs_reading *r, const struct bs_scope *s,
			  const struct bs_protocol *p)
{
	bool pair = p->width > 0.0 || p->oversampling > 0.0;

	if (sound(s, "gridding.accuracy", "gridding.width", "gridding.oversampling", NULL)) {
		if (p->accuracy > 0.0 && pair)
			fault(r, s, p->width > 0.0 ? "gridding.width" : "gridding.oversampling",
			      "either accuracy, or width and oversampling: not both");
		else if (p->accuracy > 0.0 && p->accuracy < 1e-6)
			fault(r, s, "gridding.accuracy", "%g is outside 1e-06 .. 0.1", p->accuracy);
		else if (p->accuracy == 0.0 && p->width < 2.0)
			fault_near(r, s, "gridding.width", "gridding.oversampling",
				   "%g is outside 2 .. 16 cells (without accuracy)", p->width);
		if (p->accuracy == 0.0 && p->oversampling < 1.25)
			fault_near(r, s, "gridding.oversampling", "gridding.width",
				   "%g is outside 1.25 .. 2 (without accuracy)", p->oversampling);
	}
	if (!sound(s, "gridding.density", NULL))
		return;
	if (p->density == BS_DENSITY_RAMP && sound(s, "trajectory.type", "method", NULL) &&
	    given(s, "gridding.density") && bs_protocol_on_grid(p))
		fault(r, s, "gridding.density", "ramp: the lines of a grid are no spokes: none");
	file_where(r, s, "gridding.density_file", p->density_file, p->density == BS_DENSITY_FILE,
		   "gridding.density", "file", true);
}

static void rule_image(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_protocol *p)
{
	const bool combines = p->combine == BS_COMBINE_SENSE;
	const bool maps = bs_methods[p->method].uses_maps;

	if (!sound(s, "image.combine", "method", NULL))
		return;
	if (maps && !combines)
		fault(r, s, "image.combine", "method %s combines by sensitivities: sense",
		      bs_method_name(p->method));
	file_where(r, s, "image.maps_file", p->maps_file, combines || maps,
		   maps ? "method" : "image.combine", maps ? bs_method_name(p->method) : "sense",
		   true);
	if (sound(s, "image.output", NULL) && p->combine == BS_COMBINE_RSS &&
	    p->output == BS_OUTPUT_COMPLEX)
		fault(r, s, "image.output",
		      "the root of a sum of squares has no phase: magnitude, or combine none or "
		      "sense");
}

/* Engines see whitened, virtual coils; a file's maps are those of the coils as they are. */
static void rule_coils(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_protocol *p)
{
	if (!sound(s, "coils", "virtual_coils", NULL))
		return;
	if (p->virtual_coils > p->coils)
		fault(r, s, "virtual_coils", "%u of %u coils: there are not so many",
		      p->virtual_coils, p->coils);
	if (!sound(s, "noise.whiten", "image.maps_file", NULL) || p->maps_file[0] == '\0' ||
	    !bs_protocol_prepares(p))
		return;
	fault(r, s, "image.maps_file", "holds the coils as they are: not with %s",
	      p->virtual_coils > 0 ? "virtual_coils" : "noise.whiten");
}

static void rule_solver(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_protocol *p)
{
	const bool solves = bs_methods[p->method].solves;

	if (!sound(s, "method", NULL))
		return;
	if (sound(s, "ls.w_file", NULL) && p->w_file[0] != '\0') {
		if (!solves)
			fault_solves(r, s, "ls.w_file");
		else
			file_exists(r, s, "ls.w_file", p->w_file, false);
		if (solves && sound(s, "ls.lambda", NULL) && p->lambda == 0.0)
			fault(r, s, "ls.lambda", "is 0: w_file would have no effect");
	}
	if (p->basis == BS_BASIS_BOX && sound(s, "ls.basis", NULL) && !solves)
		fault_solves(r, s, "ls.basis");
}

static void rule_budget(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_protocol *p)
{
	char path[40];

	if (sound(s, "budget.image_ms", "budget.on_miss", NULL) && p->on_miss != BS_MISS_FLAG &&
	    p->image_ms == 0.0)
		fault(r, s, "budget.on_miss", "has no effect without budget.image_ms");
	for (int i = 0; i < BS_BUDGET_STAGES; i++) {
		(void)snprintf(path, sizeof(path), "budget.%s_ms",
			       bs_budget_stage_name((enum bs_budget_stage)i));
		if (!sound(s, path, "budget.image_ms", "method", "backend", NULL) ||
		    p->stage_ms[i] == 0.0)
			continue;
		if (p->image_ms > 0.0 && p->stage_ms[i] > p->image_ms)
			fault(r, s, path, "%g is more than the whole image's %g", p->stage_ms[i],
			      p->image_ms);
		if (i == BS_BUDGET_SOLVE && !bs_methods[p->method].solves)
			fault_solves(r, s, path);
		if ((i == BS_BUDGET_UPLOAD || i == BS_BUDGET_DOWNLOAD) &&
		    p->backend == BS_BACKEND_HOST)
			fault(r, s, path, "has no effect with backend host");
	}
}

void bs_rules_protocol(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_protocol *p)
{
	if (sound(s, "name", NULL) && (strchr(p->name, '/') != NULL || p->name[0] == '.'))
		fault(r, s, "name", "\"%s\": no '/' and no leading '.' (files are named after it)",
		      p->name);
	rule_matrix(r, s, p);
	rule_image_matrix(r, s, p);
	rule_sizes(r, s, p);
	rule_traj(r, s, p);
	rule_gridding(r, s, p);
	rule_image(r, s, p);
	rule_coils(r, s, p);
	rule_solver(r, s, p);
	rule_budget(r, s, p);
}

/* 127.a.b.c:port or [::1]:port */
static bool loopback(const char *at)
{
	unsigned octet[4];
	unsigned port = 0;
	int n = 0;

	if (strncmp(at, "[::1]:", 6) == 0) {
		at += 6;
	} else {
		/* NOLINTNEXTLINE(cert-err34-c): three digits fit, and the count is checked */
		if (sscanf(at, "%3u.%3u.%3u.%3u:%n", &octet[0], &octet[1], &octet[2], &octet[3],
			   &n) != 4 ||
		    n == 0 || octet[0] != 127 || octet[1] > 255 || octet[2] > 255 || octet[3] > 255)
			return false;
		at += n;
	}
	n = 0;
	/* NOLINTNEXTLINE(cert-err34-c): five digits fit */
	return sscanf(at, "%5u%n", &port, &n) == 1 && at[n] == '\0' && port > 0 && port < 65536 &&
	       strspn(at, "0123456789") == strlen(at);
}

static void rule_url(const struct bs_reading *r, const struct bs_scope *s, const char *key,
		     const char *url, bool needed)
{
	size_t path = strlen(url) - (strlen(url) < 6 ? strlen(url) : 6);

	if (!sound(s, key, NULL))
		return;
	if (url[0] == '\0') {
		if (needed)
			fault(r, s, key, "must not be empty");
	} else if (strncmp(url, "tcp://", 6) == 0) {
		if (!loopback(url + 6))
			fault(r, s, key, "%s: tcp is open to loopback only: tcp://127.0.0.1:PORT",
			      url);
	} else if (strncmp(url, "ws://", 5) == 0) {
		fault(r, s, key, "%s: ws is refused (crafted handshakes end the process)", url);
	} else if (strncmp(url, "ipc://", 6) != 0) {
		fault(r, s, key, "%s: neither ipc:// nor tcp://", url);
	} else if (path == 0) {
		fault(r, s, key, "a path must follow ipc://");
	} else if (path > BS_IPC_PATH_MAX) {
		fault_near(r, s, key, "node.run_dir",
			   "a socket's path of %zu characters is too long, at most %u", path,
			   BS_IPC_PATH_MAX);
	}
}

static void rule_endpoints(const struct bs_reading *r, const struct bs_scope *s,
			   const struct bs_site *site)
{
	const struct {
		const char *key, *url;
	} all[] = {
		{ "endpoints.kspace", site->kspace_url },
		{ "endpoints.archive", site->archive_url },
		{ "endpoints.viewers", site->viewers_url },
		{ "endpoints.status", site->status_url },
	};

	for (size_t i = 0; i < 4; i++) {
		rule_url(r, s, all[i].key, all[i].url, i == 0 || i == 3);
		for (size_t j = 0; j < i; j++)
			if (all[i].url[0] != '\0' && strcmp(all[i].url, all[j].url) == 0)
				fault(r, s, all[i].key, "the same as %s", all[j].key);
	}
}

static void rule_memory(const struct bs_reading *r, const struct bs_scope *s,
			const struct bs_site *site, const struct bs_scope *protocols)
{
	struct bs_pools pools;
	struct bs_fail why;

	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "matrix", "coils", "samples", "discard", "image.combine",
			   "image.output", "image.matrix", "method", NULL))
			return;
	if (!sound(s, "node.acq_slots", "node.image_slots", "node.memory_mib", NULL))
		return;
	if (bs_pools_size(&pools, site, &why) != 0)
		fault(r, s, "node.acq_slots", "%s", why.text);
	else if (pools.total_bytes > (uint64_t)site->memory_mib << 20)
		fault(r, s, "node.memory_mib",
		      "%u MiB are too few: the shared pools need %llu x %llu + %llu x %llu bytes",
		      site->memory_mib, (unsigned long long)pools.acq_slots,
		      (unsigned long long)pools.acq_bytes, (unsigned long long)pools.image_slots,
		      (unsigned long long)pools.image_bytes);
}

/* The protocol with the largest image; all of them go to every taker. */
static const struct bs_protocol *largest(const struct bs_site *site)
{
	const struct bs_protocol *most = &site->protocol[0];

	for (uint32_t i = 1; i < site->protocols; i++)
		if (bs_protocol_image_bytes(&site->protocol[i]) > bs_protocol_image_bytes(most))
			most = &site->protocol[i];
	return most;
}

static void rule_spill(const struct bs_reading *r, const struct bs_scope *s,
		       const struct bs_site *site, const struct bs_scope *protocols)
{
	struct bs_pools pools;
	struct bs_fail why;
	uint64_t need;

	if (!sound(s, "overload.archive", "overload.sinks", "overload.spill_dir",
		   "overload.spill_mib", NULL))
		return;
	if ((site->overload.archive == BS_POLICY_SPILL ||
	     site->overload.sinks == BS_POLICY_SPILL) &&
	    site->overload.spill_dir[0] == '\0')
		fault_near(r, s, "overload.spill_dir",
			   site->overload.sinks == BS_POLICY_SPILL ? "overload.sinks"
								   : "overload.archive",
			   "must be given: images are spilled to it");
	for (uint32_t i = 0; i < site->protocols; i++)
		if (!sound(&protocols[i], "matrix", "coils", "image.combine", "image.output",
			   "image.matrix", "method", NULL))
			return;
	if (!bs_site_spills(site) || site->protocols == 0 || bs_pools_size(&pools, site, &why) != 0)
		return;
	need = bs_pools_piece_bytes(pools.image_bytes);
	if (need > (uint64_t)site->overload.spill_mib << 20)
		fault_near(
			r, s, "overload.spill_mib", "overload.spill_dir",
			"%u MiB do not hold one image of protocol '%s': it takes %llu bytes, %llu "
			"MiB",
			site->overload.spill_mib, largest(site)->name, (unsigned long long)need,
			(unsigned long long)((need + (1u << 20) - 1) >> 20));
}

void bs_rules_site(const struct bs_reading *r, const struct bs_scope *s, const struct bs_site *site,
		   const struct bs_scope *sinks, const struct bs_scope *protocols)
{
	if (sound(s, "node.run_dir", NULL) && site->run_dir[0] == '\0')
		fault(r, s, "node.run_dir", "must not be empty");
	if (sound(s, "node.heartbeat_ms", "node.stall_ms", NULL) &&
	    site->stall_ms < 2.0 * site->heartbeat_ms)
		fault(r, s, "node.stall_ms", "%g is less than twice heartbeat_ms, %g",
		      site->stall_ms, site->heartbeat_ms);
	rule_endpoints(r, s, site);
	rule_spill(r, s, site, protocols);
	for (uint32_t i = 0; i < site->sinks; i++) {
		if (!sound(&sinks[i], "type", "dir", NULL))
			continue;
		if (site->sink[i].dir[0] == '\0')
			fault(r, &sinks[i], "dir", "must not be empty");
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(site->sink[i].type, site->sink[j].type) == 0 &&
			    strcmp(site->sink[i].dir, site->sink[j].dir) == 0)
				fault(r, &sinks[i], "dir", "the same as %s (line %u)",
				      sinks[j].label, sinks[j].line);
	}
	for (uint32_t i = 0; i < site->protocols; i++)
		for (uint32_t j = 0; j < i; j++)
			if (sound(&protocols[i], "name", NULL) &&
			    sound(&protocols[j], "name", NULL) &&
			    strcmp(site->protocol[i].name, site->protocol[j].name) == 0)
				fault(r, &protocols[i], "name",
				      "\"%s\" is already the name of %s (line %u)",
				      site->protocol[i].name, protocols[j].label,
				      protocols[j].line);
	rule_memory(r, s, site, protocols);
}
