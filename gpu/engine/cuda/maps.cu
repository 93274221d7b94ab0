/* gpu/engine/cuda/maps.cu - the maps, and the field map, of the current slice; see armed.h */
#include "gpu/engine/cuda/armed.h"

#include "gpu/device/check.h"
#include "gpu/solve/segments_cuda.h"

/* Returns the bytes of one slice's maps. */
static size_t maps_bytes(const struct bs_protocol *p)
{
	return bs_protocol_map_sets(p) > 0 ? bs_protocol_voxels(p) * p->coils * 8 : 0;
}

int bs_armed_cuda_slice(struct bs_armed_cuda *e, uint32_t slice)
{
	const size_t values = (size_t)bs_protocol_voxels(e->p) * e->p->coils;
	int rc = 0;

	if (e->field != NULL)
		rc = bs_segments_cuda_slice(e->field, slice, e->stream, NULL);
	if (rc != 0 || e->all_maps == NULL || slice == e->slice)
		return rc;
	BS_CUDA(cudaMemcpyAsync(e->maps, e->all_maps + slice * values, values * sizeof(float2),
				cudaMemcpyDeviceToDevice, e->stream),
		NULL);
	if (e->ls != NULL)
		rc = bs_ls_cuda_use(e->ls, slice, e->stream, NULL);
	if (rc == 0)
		e->slice = slice;
	return rc;
}

/* Images queued before keep their maps. With several slices no slice is current afterwards. */
int bs_armed_cuda_maps(void *self, uint32_t slice)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	const size_t bytes = maps_bytes(e->p);
	float2 *to = e->all_maps != NULL ? e->all_maps + slice * (bytes / 8) : e->maps;
	int rc = 0;

	e->once.lines = 0;
	if (e->field != NULL)
		rc = bs_segments_cuda_field(e->field, slice,
					    e->host_field + slice * bs_protocol_voxels(e->p),
					    e->stream, NULL);
	if (rc != 0 || bytes == 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(to, e->host_maps + 2 * slice * e->maps_step, bytes,
				cudaMemcpyHostToDevice, e->stream),
		NULL);
	if (e->all_maps != NULL)
		e->slice = UINT32_MAX;
	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	if (e->prox != NULL)
		return bs_armed_cuda_measure(e, slice, NULL);
	return e->ls != NULL ? bs_ls_cuda_changed(e->ls, slice, e->stream, NULL) : 0;
}

int bs_armed_cuda_measure(struct bs_armed_cuda *e, uint32_t slice, struct bs_fail *why)
{
	const float *maps = e->host_maps != NULL ? e->host_maps + 2 * slice * e->maps_step : NULL;
	const int rc = bs_armed_cuda_slice(e, slice);

	return rc != 0 ? rc : bs_proximal_cuda_changed(e->prox, slice, maps, e->stream, why);
}
