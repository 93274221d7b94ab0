/* ipc/wire/encodings.c - see encodings.h */
#include "ipc/wire/encodings.h"

#include <math.h>
#include <string.h>

#include "core/text.h"

#define AT(field) offsetof(struct bs_mrd_encoding, field)

void bs_encodings_put(struct bs_encoding_written *w, const char *const path[3], const char *text)
{
	static const struct {
		const char *space, *what;
		size_t at;
		bool mm;
	} known[] = { { "encodedSpace", "matrixSize", AT(encoded), false },
		      { "reconSpace", "matrixSize", AT(recon), false },
		      { "encodedSpace", "fieldOfView_mm", AT(encoded_fov_mm), true },
		      { "reconSpace", "fieldOfView_mm", AT(fov_mm), true } };
	const int axis = path[2][0] >= 'x' && path[2][0] <= 'z' && path[2][1] == '\0'
				 ? path[2][0] - 'x'
				 : -1;
	double v;

	for (size_t i = 0; axis >= 0 && i < sizeof(known) / sizeof(known[0]); i++) {
		char *to = (char *)&w->e + known[i].at;

		if (strcmp(path[0], known[i].space) != 0 || strcmp(path[1], known[i].what) != 0)
			continue;
		if (known[i].mm && bs_text_number(text, &v) && fabs(v) <= 1e9)
			((float *)(void *)to)[axis] = (float)v;
		else if (!known[i].mm && bs_text_whole(text, &v) && v >= 0.0 && v <= UINT32_MAX)
			((uint32_t *)(void *)to)[axis] = (uint32_t)v;
	}
	if (!bs_text_whole(text, &v) || fabs(v) > UINT32_MAX)
		return;
	if (strcmp(path[0], "encodingLimits") == 0)
		(void)bs_limits_put(&w->limits, path[1], path[2], (int64_t)v);
	else if (strcmp(path[1], "accelerationFactor") == 0 && v >= 0.0)
		for (int i = 0; i < 2; i++)
			if (strcmp(path[2], i == 0 ? "kspace_encoding_step_1"
						   : "kspace_encoding_step_2") == 0)
				w->e.acceleration[i] = (uint32_t)v;
}

void bs_encodings_take(struct bs_encoding_written *w, struct bs_scan_info *info)
{
	const uint32_t i = info->encodings - 2; /* index of the encoding that has ended */
	struct bs_scan_info limits = { 0 };

	if (i < BS_ENCODINGS_MORE) {
		memcpy(limits.encoded, w->e.encoded, sizeof(limits.encoded));
		memcpy(limits.recon, w->e.encoded, sizeof(limits.recon));
		bs_limits_take(&w->limits, &limits);
		w->e.step1 = limits.step1;
		w->e.step2 = limits.step2;
		info->more[i] = w->e;
	}
	memset(w, 0, sizeof(*w));
}
