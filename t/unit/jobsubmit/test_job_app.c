#include "t.h"
#include "np_shared.h"

#define OPTION "_SLURM_SPANK_OPTION_netprof_netprofile="
#define MAX 4

/* clang-format off */
static const struct {
	const char *name, *job, *spank[MAX], *env[MAX];
	const char *want; /* NULL: not known */
} rows[] = {
	{ "nothing", "melt", { NULL }, { NULL }, NULL },
	{ "the option", "x", { OPTION "melt" }, { NULL }, "melt" },
	{ "the option before the variable", "x",
	  { "A=b", OPTION "melt" }, { "NETPROF_APP=other" }, "melt" },
	{ "a bare option means the job's name", "melt.sh",
	  { OPTION "(null)" }, { NULL }, "melt.sh" },
	{ "an empty option as well", "melt", { OPTION }, { NULL }, "melt" },
	{ "a bare option, and the variable", "x", { OPTION "(null)" },
	  { "NETPROF_APP=melt" }, "melt" },
	{ "the variable", "x", { NULL }, { "HOME=/", "NETPROF_APP=melt" },
	  "melt" },
	{ "the variable from a SPANK plugin", "x", { "NETPROF_APP=melt" },
	  { NULL }, "melt" },
	{ "an empty variable", "x", { NULL }, { "NETPROF_APP=" }, NULL },
	{ "a variable that only begins so", "x", { NULL },
	  { "NETPROF_APPS=melt" }, NULL },
	{ "the option of another plugin", "x",
	  { "_SLURM_SPANK_OPTION_other_netprofile=melt" }, { NULL }, NULL },
	{ "a bad name", "x", { OPTION "../melt" }, { NULL }, NULL },
	{ "a bad variable", "x", { NULL }, { "NETPROF_APP=a b" }, NULL },
	{ "a name that is too long", "x", { OPTION
	  "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcde"
	  }, { NULL }, NULL },
	{ "a bare option in a job without a name", NULL,
	  { OPTION "(null)" }, { NULL }, NULL },
	{ "a job's name that needs work", "my job/a b",
	  { OPTION "(null)" }, { NULL }, "a_b" },
	{ "a job's name of nothing", "...", { OPTION "(null)" }, { NULL },
	  NULL },
};
/* clang-format on */

static uint32_t count(const char *const *list)
{
	uint32_t n = 0;

	while (n < MAX && list[n])
		n++;
	return n;
}

T_TEST("which source names the application")
{
	T_EACH(r, rows) {
		char app[NP_APP_MAX + 1] = "before";
		job_desc_msg_t d = {
			.name = (char *)r->job,
			.spank_job_env = (char **)r->spank,
			.spank_job_env_size = count(r->spank),
			.environment = (char **)r->env,
			.env_size = count(r->env),
		};
		bool known = np_submit_app(&d, app);

		T_ROW(r->name, known == (r->want != NULL));
		T_ROW(r->name, !known || !strcmp(app, r->want));
	}
}

/* Slurm's structures may say so, or hold holes. */
T_TEST("lists that are missing or have empty entries")
{
	char app[NP_APP_MAX + 1];
	char *env[] = { NULL, (char *)"NETPROF_APP=melt" };
	job_desc_msg_t d = { .spank_job_env_size = 5, .env_size = 7 };

	T_CHECK(!np_submit_app(&d, app));
	d.environment = env;
	d.env_size = 2;
	T_CHECK(np_submit_app(&d, app) && !strcmp(app, "melt"));
	d.env_size = 1;
	T_CHECK(!np_submit_app(&d, app));
}
