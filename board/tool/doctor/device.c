/* board/tool/doctor/device.c - see finding.h: the GPU */
#include <stdio.h>
#include <sys/stat.h>

#include "board/tool/doctor/finding.h"
#include "board/tool/doctor/machine.h"

static bool there(const struct bs_doctor *d, const char *path)
{
	char full[512];
	struct stat st;

	return snprintf(full, sizeof(full), "%s%s", d->root, path) < (int)sizeof(full) &&
	       stat(full, &st) == 0;
}

/* Returns the first protocol that must, or may, run on a GPU. */
static const struct bs_protocol *wants(const struct bs_site *site, enum bs_backend backend)
{
	for (uint32_t i = 0; site != NULL && i < site->protocols; i++)
		if (site->protocol[i].backend == backend)
			return &site->protocol[i];
	return NULL;
}

/* Checks the GPUs through the CUDA runtime, on the real machine only. */
static void by_runtime(struct bs_doctor *d, bool needed)
{
	static struct bs_machine m;
	const struct bs_devices first = {
		.count = 1, .device = { d->site != NULL ? d->site->gpu_devices.device[0] : 0 }
	};

	bs_machine_read(&m, &first);
	if (m.gpu[0] != '\0')
		bs_doctor_say(d, BS_HEALTH_OK, "GPU", "", "%s, driver %s", m.gpu, m.driver);
	else
		bs_doctor_say(d, needed ? BS_HEALTH_FAIL : BS_HEALTH_WARN, "GPU",
			      "nvidia-smi; a driver as new as the CUDA runtime; gpu.devices",
			      "number %u does not answer", first.device[0]);
}

void bs_doctor_gpu(struct bs_doctor *d, const char *mps)
{
	const bool needed = wants(d->site, BS_BACKEND_CUDA) != NULL;
	const bool driver = there(d, "/proc/driver/nvidia/version");
	const bool device = there(d, "/dev/nvidiactl") || there(d, "/dev/nvhost-gpu");

	if (BS_GPU == 0)
		bs_doctor_say(d, needed ? BS_HEALTH_FAIL : BS_HEALTH_OK, "GPU",
			      needed ? "a program that is built with CUDA (make GPU=1), or backend "
				       "= \"auto\""
				     : "",
			      "this program has no CUDA%s",
			      needed ? ", and a protocol has backend = \"cuda\"" : "");
	else if (!driver && !device)
		bs_doctor_say(d, needed ? BS_HEALTH_FAIL : BS_HEALTH_OK, "GPU",
			      needed ? "install NVIDIA's driver, or backend = \"auto\"" : "",
			      "no driver is loaded%s",
			      needed ? ", and a protocol has backend = \"cuda\"" : "");
	else if (d->root[0] == '\0')
		by_runtime(d, needed);
	else
		bs_doctor_say(d, BS_HEALTH_OK, "GPU", "", "a driver is loaded");
	if (!driver && !device)
		return;
	const bool shared = d->site != NULL && d->site->gpu_shared;

	if (there(d, mps))
		bs_doctor_say(d, shared ? BS_HEALTH_OK : BS_HEALTH_WARN, "MPS",
			      shared ? ""
				     : "gpu.shared = true, and CUDA_MPS_ACTIVE_THREAD_PERCENTAGE "
				       "for every other program; or no MPS",
			      "its daemon runs (%s): others' kernels run beside the service's",
			      mps);
	else
		bs_doctor_say(d, shared ? BS_HEALTH_FAIL : BS_HEALTH_OK, "MPS",
			      shared ? "systemctl enable --now boreside-mps (board/deploy/mps), or "
				       "gpu.shared = false and no other program on this GPU"
				     : "",
			      "off: GPU time is the service's in turns");
}
