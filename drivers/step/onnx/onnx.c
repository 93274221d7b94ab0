/*
 * drivers/step/onnx/onnx.c - a step that runs a network by ONNX Runtime: each image through a model
 *
 *     cc -O2 -o boreside-onnx onnx.c -ldl
 *     steps = ( { name = "denoise"; on = "PROTOCOL"; budget_ms = 20.0;
 *                 command = "/usr/local/bin/boreside-onnx LIBRARY /etc/boreside/denoise.onnx"; } );
 *
 *     boreside-onnx LIBRARY MODEL [THREADS]
 *
 * LIBRARY: libonnxruntime.so of the distribution, or of PyPI's onnxruntime (its folder capi). It is
 * loaded at run time; nothing of it is needed to build this. THREADS: of the network; 1.
 * The model has one input and one output, of floats, as many in as out. Its axes are the image's:
 * [y][x], [channel][y][x], [1][channel][y][x] or [1][channel][z][y][x]. With four axes the slices
 * of a volume are its batch. An axis of no fixed size takes any. Images are magnitudes or phases.
 * What the runtime refuses ends this process with its words: the image leaves without it.
 * Source: onnxruntime_c_api.h, whose first 102 functions keep their order in all versions.
 */
#define _GNU_SOURCE
#include "ipc/step.h" /* installed: <boreside/step.h> */

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define AXES_MAX 5
#define FLOATS   1 /* ONNX's number of this type */

/* What is used of OrtApi, at its place. All but the last return a status; NULL: it went well. */
struct api {
	void *before_message[2];
	const char *(*message)(const void *status);
	void *(*create_env)(int level, const char *name, void **env);
	void *before_session[3];
	void *(*create_session)(const void *env, const char *path, const void *options,
				void **session);
	void *before_run[1];
	void *(*run)(void *session, const void *options, const char *const *inputs,
		     const void *const *in, size_t ins, const char *const *outputs, size_t outs,
		     void **out);
	void *(*create_options)(void **options);
	void *before_threads[13];
	void *(*set_threads)(void *options, int threads);
	void *before_inputs[5];
	void *(*inputs)(const void *session, size_t *n);
	void *(*outputs)(const void *session, size_t *n);
	void *before_type[1];
	void *(*input_type)(const void *session, size_t input, void **type);
	void *before_names[2];
	void *(*input_name)(const void *session, size_t input, void *allocator, char **name);
	void *(*output_name)(const void *session, size_t output, void *allocator, char **name);
	void *before_tensor[11];
	void *(*tensor_of)(const void *memory, void *data, size_t bytes, const int64_t *size,
			   size_t axes, int type, void **tensor);
	void *before_cast[5];
	void *(*cast_type)(const void *type, const void **of);
	void *before_element[4];
	void *(*element)(const void *of, int *type);
	void *(*axes)(const void *of, size_t *axes);
	void *(*sizes)(const void *of, int64_t *size, size_t axes);
	void *before_memory[6];
	void *(*cpu_memory)(int allocator, int kind, void **memory);
	void *before_allocator[8];
	void *(*allocator)(void **allocator);
	void *before_release[17];
	void (*release_value)(void *tensor);
};
static_assert(offsetof(struct api, release_value) == 96 * sizeof(void *), "OrtApi's order");
static_assert(offsetof(struct api, tensor_of) == 49 * sizeof(void *), "OrtApi's order");
static_assert(offsetof(struct api, cpu_memory) == 69 * sizeof(void *), "OrtApi's order");

struct base { /* OrtApiBase */
	const struct api *(*api)(uint32_t version);
	const char *(*version)(void);
};

struct network {
	const struct api *ort;
	void *session, *memory;
	char *input, *output;
	size_t axes;
	int64_t size[AXES_MAX]; /* of the input; below 1: any */
};

/* Ends the process where the runtime has refused. */
static void must(const struct network *n, const void *status, const char *what)
{
	if (status == NULL)
		return;
	(void)fprintf(stderr, "boreside-onnx: %s: %s\n", what, n->ort->message(status));
	exit(1);
}

static void end_with(const char *words)
{
	(void)fprintf(stderr, "boreside-onnx: %s\n", words);
	exit(1);
}

static void load_library(struct network *n, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct base *(*get)(void) = NULL;
	void *found = library != NULL ? dlsym(library, "OrtGetApiBase") : NULL;

	if (found == NULL)
		end_with(dlerror());
	memcpy(&get, &found, sizeof(get));
	n->ort = get()->api(1);
	if (n->ort == NULL)
		end_with("the library has no API of version 1");
	(void)fprintf(stderr, "boreside-onnx: ONNX Runtime %s\n", get()->version());
}

static void load_model(struct network *n, const char *path, int threads)
{
	void *env, *options, *type, *allocator;
	const void *of;
	size_t ins, outs;
	int element;

	must(n, n->ort->create_env(3, "boreside", &env), "environment"); /* 3: errors are told */
	must(n, n->ort->create_options(&options), "options");
	must(n, n->ort->set_threads(options, threads), "threads");
	must(n, n->ort->create_session(env, path, options, &n->session), path);
	must(n, n->ort->inputs(n->session, &ins), path);
	must(n, n->ort->outputs(n->session, &outs), path);
	if (ins != 1 || outs != 1)
		end_with("the model has not one input and one output");
	must(n, n->ort->allocator(&allocator), "allocator");
	must(n, n->ort->input_name(n->session, 0, allocator, &n->input), path);
	must(n, n->ort->output_name(n->session, 0, allocator, &n->output), path);
	must(n, n->ort->input_type(n->session, 0, &type), path);
	must(n, n->ort->cast_type(type, &of), path);
	must(n, n->ort->element(of, &element), path);
	must(n, n->ort->axes(of, &n->axes), path);
	if (element != FLOATS || n->axes < 2 || n->axes > AXES_MAX)
		end_with("the model's input is no floats of two to five axes");
	must(n, n->ort->sizes(of, n->size, n->axes), path);
	must(n, n->ort->cpu_memory(1, 0, &n->memory), "memory"); /* the default kind, of an arena */
}

/* Writes the sizes of the image's axes, the model's number of them. */
static void lay_axes(const struct network *n, const struct bs_step_image *in, int64_t size[])
{
	const int64_t x = in->matrix[0], y = in->matrix[1], z = in->matrix[2], c = in->channels;
	const int64_t all[AXES_MAX] = { 1, c, z, y, x };

	for (size_t a = 0; a < n->axes; a++)
		size[a] = all[AXES_MAX - n->axes + a];
	if (n->axes == 3)
		size[0] = c * z;
	if (n->axes == 4) {
		size[0] = z;
		size[1] = c;
	}
	if (in->type != 5 || (n->axes == 4 && z > 1 && c > 1) || (n->axes == 2 && z * c > 1))
		end_with("the image does not fit the model's axes, or is complex");
	for (size_t a = 0; a < n->axes; a++)
		if (n->size[a] > 0 && n->size[a] != size[a]) {
			(void)fprintf(stderr, "boreside-onnx: axis %zu: the model has %lld\n", a,
				      (long long)n->size[a]);
			end_with("the image is of another size");
		}
}

/* Runs the network from the image's place to the answer's. */
static void run_network(const struct network *n, struct bs_step_memory *m)
{
	const size_t bytes = (size_t)m->in.bytes;
	int64_t size[AXES_MAX];
	void *in, *out;

	lay_axes(n, &m->in, size);
	must(n,
	     n->ort->tensor_of(n->memory, (char *)m + m->in_at, bytes, size, n->axes, FLOATS, &in),
	     "image");
	must(n,
	     n->ort->tensor_of(n->memory, (char *)m + m->out_at, bytes, size, n->axes, FLOATS,
			       &out),
	     "answer");
	must(n,
	     n->ort->run(n->session, NULL, (const char *const *)&n->input, (const void *const *)&in,
			 1, (const char *const *)&n->output, 1, &out),
	     "run");
	n->ort->release_value(in);
	n->ort->release_value(out);
}

int main(int argc, char **argv)
{
	const char *path = getenv(BS_STEP_SOCKET);
	struct network n = { 0 };
	int fd = -1;
	struct bs_step_memory *m = path != NULL && argc >= 3 ? bs_step_open(path, &fd) : NULL;

	if (m == NULL)
		end_with(argc >= 3
				 ? "no service"
				 : "usage: boreside-onnx LIBRARY MODEL [THREADS], by the service");
	load_library(&n, argv[1]);
	load_model(&n, argv[2], argc > 3 ? atoi(argv[3]) : 1);
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	while (bs_step_wait(m, fd)) {
		run_network(&n, m);
		m->out.what = BS_STEP_PIXELS;
		m->out.numbers = 0;
		m->out.bytes = m->in.bytes;
		bs_step_store(&m->answered, m->asked);
	}
	return 0;
}
