#include "np_role.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "np_clock.h"

#define ASK_EVERY_SEC 60 /* settings change with a reconfiguration */

/* The same host, whether or not one has a domain. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return n == m && !memcmp(a, b, n) &&
	       (!a[n] || !b[m] || !strcmp(a + n, b + m));
}

int np_role_take(struct np_role *c, const slurm_conf_t *conf,
		 struct np_err *err)
{
	c->index = -1;
	for (uint32_t i = 0; i < conf->control_cnt; i++)
		if (conf->control_machine[i] &&
		    same_host(conf->control_machine[i], c->host))
			c->index = (int)i;
	c->alone = conf->control_cnt <= 1;
	if (c->alone)
		c->index = 0;
	c->whole_nodes = conf->select_type &&
			 !strcmp(conf->select_type, "select/linear");
	c->private_jobs = conf->private_data & PRIVATE_DATA_JOBS;
	snprintf(c->cluster, sizeof(c->cluster), "%s",
		 conf->cluster_name ? conf->cluster_name : "");
	if (c->index < 0)
		return np_errf(err, -EAGAIN, "SlurmctldHost in slurm.conf does "
			       "not name this host, %s", c->host);
	return 0;
}

static int ask(struct np_role *c, struct np_err *err)
{
	slurm_conf_t *conf = NULL;
	int rc;

	if (c->asked_sec && np_mono_sec() - c->asked_sec < ASK_EVERY_SEC)
		return 0;
	if (gethostname(c->host, sizeof(c->host) - 1))
		return np_errf(err, -EAGAIN, "gethostname: %s",
			       strerror(errno));
	if (slurm_load_ctl_conf(0, &conf))
		return np_errf(err, -EAGAIN, "slurm_load_ctl_conf: %s",
			       slurm_strerror(errno));
	rc = np_role_take(c, conf, err);
	np_free_conf(conf);
	if (!rc)
		c->asked_sec = np_mono_sec();
	return rc;
}

int np_role_check(struct np_role *c, struct np_err *err)
{
	int rc = ask(c, err);

	if (rc || c->alone)
		return rc;
	if (slurm_ping(c->index))
		return np_errf(err, -EAGAIN, "this controller does not answer "
			       "yet");
	for (int i = 0; i < c->index; i++)
		if (!slurm_ping(i))
			return np_errf(err, -EAGAIN, "controller %d is there",
				       i);
	return 0;
}
