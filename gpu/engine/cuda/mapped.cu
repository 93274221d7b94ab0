/* gpu/engine/cuda/mapped.cu - see mapped.h */
#include "gpu/engine/cuda/mapped.h"

#include <stdlib.h>

#include "gpu/calibrate/espirit_cuda.h"
#include "gpu/device/check.h"
#include "gpu/device/stream.h"

struct bs_mapped_cuda {
	struct bs_devmem mem;
	struct bs_espirit_cuda *espirit;
	cudaStream_t stream;
	float *maps;
	size_t bytes; /* bytes of the maps */
};

static uint64_t maps_bytes(const struct bs_espirit_spec *s)
{
	return (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2] * s->coils * s->sets * 8;
}

uint64_t bs_mapped_cuda_bytes(const struct bs_espirit_spec *s)
{
	return bs_espirit_cuda_bytes(s) + bs_devmem_round(maps_bytes(s));
}

int bs_mapped_cuda_open(struct bs_mapped_cuda **self, struct bs_espirit *host, const char *protocol,
			struct bs_fail *why)
{
	struct bs_mapped_cuda *m = (struct bs_mapped_cuda *)calloc(1, sizeof(*m));
	struct bs_espirit_lags l;
	int rc;

	*self = NULL;
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': coil maps", protocol);
	bs_espirit_lags(host, &l);
	m->bytes = (size_t)maps_bytes(l.spec);
	rc = bs_devmem_open(&m->mem, bs_mapped_cuda_bytes(l.spec), protocol, why);
	if (rc == 0)
		rc = bs_espirit_cuda_plan(&m->espirit, host, &m->mem, why);
	if (rc == 0) {
		m->maps = (float *)bs_devmem_take(&m->mem, m->bytes);
		rc = bs_stream_open(&m->stream, why);
	}
	if (rc != 0) {
		bs_mapped_cuda_close(m);
		return rc;
	}
	*self = m;
	return 0;
}

int bs_mapped_cuda_run(void *self, const uint32_t size[3], const float *block, float *maps,
		       struct bs_fail *why)
{
	struct bs_mapped_cuda *m = (struct bs_mapped_cuda *)self;
	int rc = bs_espirit_cuda_run(m->espirit, size, block, m->maps, NULL, m->stream, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(maps, m->maps, m->bytes, cudaMemcpyDeviceToHost, m->stream), why);
	return BS_CUDA_RC(cudaStreamSynchronize(m->stream), why);
}

void bs_mapped_cuda_close(struct bs_mapped_cuda *m)
{
	if (m == NULL)
		return;
	bs_espirit_cuda_close(m->espirit);
	if (m->stream != NULL)
		(void)cudaStreamDestroy(m->stream);
	bs_devmem_close(&m->mem);
	free(m);
}
