#include "t.h"

#include "np_placer.h"

/* SlurmctldHost of slurm.conf, and what a controller on host makes of it. */
static const struct {
	const char *name, *host;
	const char *controller[4];
	int index; /* -1: it is none of them */
	bool alone;
} hosts[] = {
	{ "the only one", "ctl", { "ctl" }, 0, true },
	{ "the only one need not know its name",
	  "localhost",
	  { "ctl" },
	  0,
	  true },
	{ "the primary", "a", { "a", "b" }, 0, false },
	{ "a standby", "b", { "a", "b" }, 1, false },
	{ "the last of three", "c", { "a", "b", "c" }, 2, false },
	{ "one has a domain here", "b.example.org", { "a", "b" }, 1, false },
	{ "one has a domain there", "b", { "a.x", "b.x" }, 1, false },
	{ "another domain is another host", "b.x", { "a.x", "b.y" }, -1, false },
	{ "a name that only begins like it",
	  "ctl",
	  { "ctl1", "ctl2" },
	  -1,
	  false },
	{ "a host that is not named", "login", { "a", "b" }, -1, false },
};

T_TEST("which controller this is")
{
	T_EACH(r, hosts) {
		const char *name = r->name;
		slurm_conf_t conf = { .cluster_name = "hpc" };
		struct np_controller c = { .index = 7 };
		struct np_err err = NP_ERR_INIT;
		int rc;

		conf.control_machine = (char **)r->controller;
		while (conf.control_machine[conf.control_cnt])
			conf.control_cnt++;
		snprintf(c.host, sizeof(c.host), "%s", r->host);
		rc = np_controller_read_conf(&c, &conf, &err);
		T_ROW(name, c.index == r->index);
		T_ROW(name, c.alone == r->alone);
		T_ROW(name, rc == (r->index < 0 ? -EAGAIN : 0));
		T_ROW(name, !rc || strstr(err.text, r->host));
		T_ROW(name, !strcmp(c.cluster, "hpc"));
	}
}

static const struct {
	const char *name, *select_type;
	uint16_t private_data;
	bool whole_nodes, private_jobs;
} kinds[] = {
	{ "jobs share nodes", "select/cons_tres", 0, false, false },
	{ "whole nodes", "select/linear", 0, true, false },
	{ "nothing said", NULL, 0, false, false },
	{ "jobs are private", "select/cons_tres", PRIVATE_DATA_JOBS, false,
	  true },
	{ "other things are private", "select/cons_tres", PRIVATE_DATA_USAGE,
	  false, false },
};

T_TEST("what kind of cluster it is")
{
	char *one[] = { "ctl" };

	T_EACH(r, kinds) {
		slurm_conf_t conf = {
			.control_machine = one,
			.control_cnt = 1,
			.select_type = (char *)r->select_type,
			.private_data = r->private_data,
		};
		struct np_controller c = { .host = "ctl" };

		T_ROW(r->name, !np_controller_read_conf(&c, &conf, NULL));
		T_ROW(r->name, c.whole_nodes == r->whole_nodes);
		T_ROW(r->name, c.private_jobs == r->private_jobs);
		T_ROW(r->name, !c.cluster[0]);
	}
}
