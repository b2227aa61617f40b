/*
 * The only file that knows PMIx. Only programs that are started by hand, with
 * srun --mpi=pmix, use it: flagged steps and the steps of netprof's commands
 * find each other through a stream (np_wire.h).
 */
#include "np_wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <pmix.h>

#include "np_clock.h"

#define KEY "netprof.place"

/*
 * While slurmstepd starts its tasks it runs with their owner's identity, and
 * rejects what the slurmstepd of another node sends on behalf of a task there
 * ("Munge decode failed: Unauthorized credential", seen with 22.05); the step
 * is then killed. Probes start much faster than MPI programs, so a probe would
 * be that task. Moreover, what is sent to a slurmstepd that does not listen yet
 * is lost after about 0.1 s of retries, and the fence then never completes.
 * That was seen where the step is the first of its job on a node, and the
 * slurmstepds start at different times. Nothing is sent, therefore, before all
 * of them have certainly started.
 *
 * With Slurm 22.05.8 and PMIx 4.2.2 of Debian 12, a fence does not wait for other
 * nodes at all, but returns within 2 ms (measured with 6 nodes of which one
 * called it 0.3 s later, with and without data, direct connections or barriers:
 * n 18). PMIx_Get() then asks the other node's slurmstepd for the value. Where
 * that does not answer, for example as its probe has ended already, PMIx_Get()
 * waits until PMIxTimeout of mpi.conf, 300 s. So an empty fence is no sign that
 * all have started.
 */
#define SETTLE_SEC 0.5

struct pmix {
	struct np_wire wire;
	pmix_proc_t self;
	struct timespec settled;
};

static int failed(struct np_err *err, pmix_status_t status, const char *what)
{
	int rc = status == PMIX_ERR_NOMEM   ? -ENOMEM :
		 status == PMIX_ERR_TIMEOUT ? -ETIMEDOUT :
					      -EIO;

	return np_errf(err, rc, "PMIx: %s: %s", what,
		       PMIx_Error_string(status));
}

static int pmix_put(struct np_wire *w, const void *data, size_t len,
		    struct np_err *err)
{
	pmix_value_t v = { .type = PMIX_BYTE_OBJECT };
	pmix_status_t status;

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
			&((struct pmix *)w)->settled, NULL);
	v.data.bo.bytes = (char *)data; /* PMIx_Put() copies it */
	v.data.bo.size = len;
	status = PMIx_Put(PMIX_GLOBAL, KEY, &v);
	if (status == PMIX_SUCCESS)
		status = PMIx_Commit();
	return status == PMIX_SUCCESS ? 0 : failed(err, status, "PMIx_Commit");
}

/* Must outlive a fence that timed out: its callback may still come. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	int open;
	pmix_status_t status;
};

static void on_fence(pmix_status_t status, void *arg)
{
	struct gate *g = arg;

	pthread_mutex_lock(&g->lock);
	g->open = 1;
	g->status = status;
	pthread_cond_signal(&g->opened);
	pthread_mutex_unlock(&g->lock);
}

static pmix_status_t wait_at(struct gate *g, double timeout_sec)
{
	pmix_status_t status;
	struct timespec until = np_mono_after(timeout_sec);
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	while (!g->open && rc != ETIMEDOUT)
		rc = pthread_cond_clockwait(&g->opened, &g->lock,
					    CLOCK_MONOTONIC, &until);
	status = g->open ? g->status : PMIX_ERR_TIMEOUT;
	pthread_mutex_unlock(&g->lock);
	return status;
}

/*
 * Not PMIx_Fence(), whose timeout is up to the server; Slurm's waits forever
 * for a process that never arrives.
 */
static int pmix_fence(struct np_wire *w, double timeout_sec, struct np_err *err)
{
	/* one for the addresses, one for the common start */
	static struct gate gates[2];
	static size_t used;
	struct gate *g = &gates[used++ % NP_ARRAY_SIZE(gates)];
	pmix_status_t status;
	pmix_info_t info;
	bool yes = true;

	(void)w;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->opened, NULL);
	g->open = 0;
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
	status = PMIx_Fence_nb(NULL, 0, &info, 1, on_fence, g);
	if (status == PMIX_SUCCESS)
		status = wait_at(g, timeout_sec);
	else if (status == PMIX_OPERATION_SUCCEEDED)
		status = PMIX_SUCCESS;
	PMIX_INFO_DESTRUCT(&info);
	return status == PMIX_SUCCESS ? 0 : failed(err, status, "PMIx_Fence");
}

static int pmix_get(struct np_wire *w, uint32_t rank, void **data, size_t *len,
		    struct np_err *err)
{
	struct pmix *p = (struct pmix *)w;
	pmix_value_t *v = NULL;
	pmix_status_t status;
	pmix_proc_t proc;
	int rc = 0;

	PMIX_LOAD_PROCID(&proc, p->self.nspace, rank);
	status = PMIx_Get(&proc, KEY, NULL, 0, &v);
	if (status != PMIX_SUCCESS)
		return failed(err, status, "PMIx_Get");
	if (v->type != PMIX_BYTE_OBJECT || !v->data.bo.size) {
		rc = np_errf(err, -EPROTO,
			     "PMIx: process %u published no value", rank);
	} else {
		/* take the bytes over instead of copying them */
		*data = v->data.bo.bytes;
		*len = v->data.bo.size;
		v->data.bo.bytes = NULL;
		v->data.bo.size = 0;
	}
	PMIX_VALUE_RELEASE(v);
	return rc;
}

static void pmix_close(struct np_wire *w)
{
	PMIx_Finalize(NULL, 0);
	free(w);
}

static const struct np_wire_ops ops = {
	.put = pmix_put,
	.fence = pmix_fence,
	.get = pmix_get,
	.close = pmix_close,
};

static int job_size(struct pmix *p, struct np_err *err)
{
	pmix_value_t *v = NULL;
	pmix_status_t status;
	pmix_proc_t job;

	PMIX_LOAD_PROCID(&job, p->self.nspace, PMIX_RANK_WILDCARD);
	status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &v);
	if (status != PMIX_SUCCESS)
		return failed(err, status, "PMIX_JOB_SIZE");
	p->wire.size = v->data.uint32;
	PMIX_VALUE_RELEASE(v);
	return 0;
}

int np_pmix_open(struct np_wire **out, struct np_err *err)
{
	struct pmix *p;
	pmix_status_t status;
	int rc;

	/*
	 * Without a server PMIx_Init() might make this process a job of its own
	 * instead of failing.
	 */
	if (!getenv("PMIX_NAMESPACE"))
		return np_errf(err, -ENOENT,
			       "no PMIx server; expected to be started by "
			       "\"srun --mpi=pmix\"");
	p = calloc(1, sizeof(*p));
	if (!p)
		return np_errf(err, -ENOMEM, "out of memory");
	status = PMIx_Init(&p->self, NULL, 0);
	if (status != PMIX_SUCCESS) {
		free(p);
		return failed(err, status,
			      "PMIx_Init (expected to be started by \"srun "
			      "--mpi=pmix\")");
	}
	p->settled = np_mono_after(SETTLE_SEC);
	p->wire.ops = &ops;
	p->wire.rank = p->self.rank;
	rc = job_size(p, err);
	if (rc) {
		pmix_close(&p->wire);
		return rc;
	}
	*out = &p->wire;
	return 0;
}
