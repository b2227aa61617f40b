#include "np_level_steps.h"

#include <errno.h>
#include <stdlib.h>

int np_level_steps_start(struct np_level_steps *c, const struct np_sidejob *job,
			 const struct np_conf *conf,
			 const struct np_hosts *hosts,
			 uint16_t port, bool again, char *const env[],
			 struct np_err *err)
{
	int rc = 0;

	*c = (struct np_level_steps){
		.step = calloc(hosts->n + 1, sizeof(*c->step)),
	};
	if (!c->step)
		return np_errf(err, -ENOMEM, "out of memory");
	while (!rc && c->n < hosts->n) {
		struct np_args args;

		np_sidecmd_join(&args, job, conf, hosts->name[c->n], port,
				again);
		rc = np_sidestep_start(&c->step[c->n++], &args, env, 0, err);
		np_args_free(&args);
	}
	return rc;
}

void np_level_steps_read(struct np_level_steps *c)
{
	for (size_t i = 0; i < c->n; i++)
		np_sidestep_read(&c->step[i], NULL, NULL);
}

size_t np_level_steps_running(struct np_level_steps *c)
{
	size_t running = 0;

	for (size_t i = 0; i < c->n; i++)
		running += !np_sidestep_reap(&c->step[i]);
	return running;
}

void np_level_steps_signal(const struct np_level_steps *c, int sig)
{
	for (size_t i = 0; i < c->n; i++)
		np_sidestep_signal(&c->step[i], sig);
}

void np_level_steps_cause(const struct np_level_steps *c, char *buf, size_t len)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->step[i].ended && c->step[i].status) {
			np_sidestep_cause(&c->step[i], buf, len);
			return;
		}
}

void np_level_steps_free(struct np_level_steps *c)
{
	for (size_t i = 0; i < c->n; i++)
		np_sidestep_close(&c->step[i]);
	free(c->step);
	*c = (struct np_level_steps){ NULL, 0 };
}
