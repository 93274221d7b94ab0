/* board/service/realtime.c - see realtime.h */
#include "board/service/realtime.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "board/arm/armed.h"
#include "board/service/herald.h"
#include "board/service/polls.h"
#include "board/service/usage.h"
#include "board/service/throttle.h"
#include "core/thread/cpus.h"
#include "gpu/engine/engines.h"

static cpu_set_t anywhere; /* processors that this process might use when it started */

/* Notes a refusal. True: it is the first of this setting, and the caller has to log it. */
static bool refuse_setting(struct bs_shared *s, enum bs_setting what, const char *remedy)
{
	uint32_t bit = 1u << what;

	if (atomic_fetch_or(&s->realtime.refused, bit) & bit)
		return false;
	(void)snprintf(s->realtime.remedy[what], BS_REMEDY, "%s", remedy);
	atomic_fetch_or(&s->realtime.told, bit);
	return true;
}

static void refused(struct bs_worker_env *env, enum bs_setting what, const char *remedy)
{
	if (refuse_setting(env->shm.s, what, remedy))
		bs_worker_say(env, BS_EVENT_LIMIT, 0, NULL, remedy);
}

static void priority_words(char out[BS_REMEDY], int priority, int error)
{
	(void)snprintf(
		out, BS_REMEDY,
		"real-time priority %d is refused (%s): set LimitRTPRIO (ulimit -r) to %d or "
		"more or grant CAP_SYS_NICE; or realtime.priority = 0",
		priority, strerror(error), priority);
}

/* Sets the calling thread's priority. Returns 0 or errno. */
static int set_priority(int priority, int flags)
{
	struct sched_param p = { .sched_priority = priority };

	return sched_setscheduler(0, (priority > 0 ? SCHED_FIFO : SCHED_OTHER) | flags, &p) == 0
		       ? 0
		       : errno;
}

static int priority_of(const struct bs_site *site, enum bs_thread place)
{
	const int above = place == BS_THREAD_INGEST                           ? 2
			  : place == BS_THREAD_EMIT || place == BS_THREAD_LOG ? 1
									      : 0;

	return site->realtime.priority != 0 ? (int)site->realtime.priority + above : 0;
}

static const char *cpus_of(const struct bs_site *site, enum bs_worker who)
{
	return who == BS_WORKER_INGEST  ? site->realtime.ingest_cpus
	       : who == BS_WORKER_RECON ? site->realtime.recon_cpus
					: site->realtime.emit_cpus;
}

/* Sets the calling thread's processors. Returns 0 or errno. */
static int set_cpus(const char *text)
{
	struct bs_cpus set;
	cpu_set_t native;

	if (text[0] == '\0' || bs_cpus_parse(&set, text, NULL) != 0)
		return 0;
	CPU_ZERO(&native);
	for (uint32_t i = 0; i < BS_CPUS_MAX; i++)
		if (bs_cpus_has(&set, i))
			CPU_SET(i, &native);
	return sched_setaffinity(0, sizeof(native), &native) == 0 ? 0 : errno;
}

/* Makes present the pages of the stack that a deep call will need. */
__attribute__((noinline)) static void touch_stack(void)
{
	volatile unsigned char page[BS_RT_TOUCH_BYTES];

	for (size_t i = 0; i < sizeof(page); i += 4096)
		page[i] = 0;
}

void bs_rt_process(struct bs_worker_env *env)
{
	const struct bs_realtime *rt = &env->site.realtime;
	char words[BS_REMEDY];
	pthread_attr_t attr;

	(void)sched_getaffinity(0, sizeof(anywhere), &anywhere);
	if (prctl(PR_SET_TIMERSLACK, rt->timer_slack_us * 1000ul) != 0) {
		(void)snprintf(words, sizeof(words), "a timer slack of %u us is refused (%s)",
			       rt->timer_slack_us, strerror(errno));
		refused(env, BS_SETTING_TIMER_SLACK, words);
	}
	if (!rt->lock_memory || pthread_attr_init(&attr) != 0)
		return;
	if (pthread_attr_setstacksize(&attr, BS_RT_STACK_BYTES) == 0)
		(void)pthread_setattr_default_np(&attr);
	(void)pthread_attr_destroy(&attr);
}

/* ---- a thread's place ---- */

struct entry {
	struct bs_worker_env *env;
	_Atomic int priority, cpus; /* last errno of each setting */
	enum bs_thread first;
};

static void name_record(struct bs_thread_record *r, enum bs_thread place)
{
	int member = (int)place - BS_THREAD_RECON;

	if (member > 0)
		(void)snprintf(r->name, sizeof(r->name), "recon/%u", (unsigned)member % 100u);
	else
		(void)snprintf(r->name, sizeof(r->name), "%s",
			       place == BS_THREAD_INGEST ? "ingest"
			       : place == BS_THREAD_LOG  ? "log"
			       : place == BS_THREAD_EMIT ? "emit"
							 : "recon");
}

static void enter(void *arg, int task, int member)
{
	struct entry *e = arg;
	struct bs_worker_env *env = e->env;
	struct bs_thread_record *r = &env->shm.s->thread[(int)e->first + member];
	int priority = priority_of(&env->site, e->first);
	int rc = set_cpus(cpus_of(&env->site, env->who));

	(void)task;
	if (rc != 0)
		atomic_store(&e->cpus, rc);
	rc = priority > 0 ? set_priority(priority, 0) : 0;
	if (rc != 0)
		atomic_store(&e->priority, rc);
	touch_stack();
	name_record(r, (enum bs_thread)((int)e->first + member));
	atomic_store(&r->tid, (int32_t)syscall(SYS_gettid));
	atomic_store(&r->priority, rc == 0 ? priority : 0);
	bs_usage_note(&env->shm, (enum bs_thread)((int)e->first + member));
}

static void tell_refusals(struct entry *e)
{
	struct bs_worker_env *env = e->env;
	char words[BS_REMEDY];

	if (atomic_load(&e->priority) != 0) {
		priority_words(words, priority_of(&env->site, e->first), atomic_load(&e->priority));
		refused(env, BS_SETTING_PRIORITY, words);
	}
	if (atomic_load(&e->cpus) != 0) {
		(void)snprintf(words, sizeof(words),
			       "processors \"%s\" are refused (%s): realtime.%s_cpus must name "
			       "processors that this machine has and the service may use",
			       cpus_of(&env->site, env->who), strerror(atomic_load(&e->cpus)),
			       bs_worker_name(env->who));
		refused(env, BS_SETTING_AFFINITY, words);
	}
}

void bs_rt_enter(struct bs_worker_env *env, enum bs_thread place)
{
	struct entry e = { .env = env, .first = place };

	enter(&e, 0, 0);
	tell_refusals(&e);
}

/* Finds the processors that a worker may use, from the site and from how this process started. */
static void may_run(struct bs_cpus *set, const char *text)
{
	memset(set, 0, sizeof(*set));
	if (text[0] != '\0' && bs_cpus_parse(set, text, NULL) == 0)
		return;
	for (uint32_t i = 0; i < BS_CPUS_MAX && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &anywhere))
			bs_cpus_add(set, i);
}

void bs_rt_polls(struct bs_worker_env *env)
{
	static struct bs_cpus may[BS_POLLS];
	char words[BS_REMEDY];

	env->polls = false;
	if (env->site.realtime.wait != BS_WAIT_POLL)
		return;
	for (int i = 0; i < BS_POLLS; i++)
		may_run(&may[i], cpus_of(&env->site, (enum bs_worker)i));
	env->polls =
		atomic_load(&env->shm.s->thread[env->place].priority) <= 0 || bs_polls_fit(may);
	if (env->polls)
		return;
	(void)snprintf(words, sizeof(words),
		       "ingest and emit sleep between messages: to poll at a real-time priority "
		       "ingest, recon and emit need a processor each and one to spare "
		       "(realtime.*_cpus)");
	refused(env, BS_SETTING_POLLING, words);
}

void bs_rt_enter_log(struct bs_worker_env *env)
{
	struct entry e = { .env = env, .first = BS_THREAD_LOG };

	enter(&e, 0, 0); /* ingest was refused the same and has told of it */
}

void bs_rt_enter_team(struct bs_worker_env *env, struct bs_team *team)
{
	struct entry e = { .env = env, .first = BS_THREAD_RECON };

	bs_team_each(team, enter, &e);
	tell_refusals(&e);
}

void bs_rt_leave(void)
{
	(void)set_priority(0, 0);
	if (CPU_COUNT(&anywhere) > 0)
		(void)sched_setaffinity(0, sizeof(anywhere), &anywhere);
}

void bs_rt_gpu(struct bs_worker_env *env)
{
	const struct bs_realtime *rt = &env->site.realtime;
	char words[BS_REMEDY];
	struct bs_fail why = { 0 };

	if (bs_engines_policy(&env->site.gpu_devices, rt->gpu_wait, rt->gpu_priority, &why) == 0)
		return;
	(void)snprintf(
		words, sizeof(words),
		"the GPU refuses realtime.gpu_wait, it is waited for as the driver likes: %.90s",
		why.text);
	refused(env, BS_SETTING_GPU_WAIT, words);
}

void bs_rt_gpu_shared(struct bs_worker_env *env, bool mps)
{
	if (env->site.gpu_shared && !mps)
		refused(env, BS_SETTING_GPU_SHARED,
			"gpu.shared, and CUDA MPS is off: other programs' kernels and the "
			"service's take turns. systemctl enable --now boreside-mps, then start "
			"both anew (DEADLINES.md)");
}

void bs_rt_throttle(struct bs_worker_env *env)
{
	char words[BS_REMEDY];
	int64_t runtime_us;

	if (atomic_load(&env->shm.s->thread[BS_THREAD_RECON].priority) <= 0 ||
	    !bs_throttle_matters(&env->site.realtime, bs_armed_on_gpu(env->shm.s)) ||
	    !bs_throttle_read(BS_THROTTLE_FILE, &runtime_us) || runtime_us == BS_THROTTLE_NONE)
		return;
	bs_throttle_words(words, &env->site.realtime, runtime_us);
	refused(env, BS_SETTING_UNTHROTTLED, words);
}

/* ---- memory ---- */

static bool may_lock_all(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
		return true;
	return syscall(SYS_capget, &head, data) == 0 &&
	       (data[0].effective & (1u << CAP_IPC_LOCK)) != 0;
}

void bs_rt_lock(struct bs_worker_env *env, bool future)
{
	char words[BS_REMEDY];
	int flags = MCL_CURRENT;

	if (!env->site.realtime.lock_memory)
		return;
	if (future && may_lock_all())
		flags |= MCL_FUTURE;
	if (mlockall(flags) == 0)
		return;
	(void)snprintf(
		words, sizeof(words),
		"locking the memory of %s is refused (%s): set LimitMEMLOCK=infinity (ulimit "
		"-l) or grant CAP_IPC_LOCK; or realtime.lock_memory = false",
		bs_worker_name(env->who), strerror(errno));
	refused(env, BS_SETTING_LOCK_MEMORY, words);
}

/* ---- the supervisor and the canaries ---- */

void bs_rt_supervisor(struct bs_shm *shm)
{
	const struct bs_site *site = &shm->s->site;
	int priority = (int)site->realtime.priority + 3;
	char words[BS_REMEDY];
	int rc = site->realtime.priority != 0 ? set_priority(priority, SCHED_RESET_ON_FORK) : 0;

	if (rc == 0)
		return;
	priority_words(words, priority, rc);
	if (refuse_setting(shm->s, BS_SETTING_PRIORITY, words))
		bs_herald_say(shm, BS_LOG_WARN, "%s", words);
}

/* True if the service may run on this processor. Without a list of processors it may on all. */
static bool of_service(const struct bs_site *site, uint32_t cpu)
{
	const char *const lists[] = { site->realtime.ingest_cpus, site->realtime.recon_cpus,
				      site->realtime.emit_cpus };
	struct bs_cpus set;

	for (int i = 0; i < 3; i++)
		if (lists[i][0] == '\0' || bs_cpus_parse(&set, lists[i], NULL) != 0 ||
		    bs_cpus_has(&set, cpu))
			return true;
	return false;
}

/*
 * Starts the canaries above every thread of the service, whether the service has priorities or not.
 * So only the machine, never one of our threads, keeps a canary from running.
 */
void bs_rt_canaries(struct bs_canaries *all, struct bs_shm *shm)
{
	const struct bs_site *site = &shm->s->site;
	struct bs_cpus mine = { 0 };
	struct bs_cpus where = { 0 };

	if (!site->realtime.canary)
		return;
	(void)bs_cpus_may_run(&mine, 0);
	for (uint32_t cpu = 0; cpu < BS_CPUS_MAX; cpu++)
		if (bs_cpus_has(&mine, cpu) && of_service(site, cpu))
			bs_cpus_add(&where, cpu);
	bs_canaries_start(all, shm->s->canary, BS_CANARIES, where.count > 0 ? &where : NULL,
			  (int)site->realtime.priority + 4);
	atomic_store(&shm->s->canaries, all->count);
	if (all->count == 0)
		bs_herald_say(shm, BS_LOG_WARN, "no canary: no late image will be explained");
	else if (all->unwatched > 0)
		bs_herald_say(
			shm, BS_LOG_WARN,
			"canaries watch %u processors, the service may use %u more: a stall of "
			"those explains no late image",
			all->count, all->unwatched);
}
