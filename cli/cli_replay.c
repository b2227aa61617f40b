#include "cli_replay.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_graph.h"
#include "np_goal.h"
#include "np_replay_graph.h"
#include "np_workload.h"

/* Ours begin with the word "tasks", after blanks and comments. */
static bool is_workload(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text;

	text[n < 0 ? 0 : n] = '\0';
	for (;;) {
		at += strspn(at, " \t\r\n");
		if (*at != '#')
			break;
		at += strcspn(at, "\n");
	}
	return !strncmp(at, "tasks", 5) && isspace((unsigned char)at[5]);
}

static int read_graph(int fd, const char *path, struct np_replay_app **out,
		      struct np_err *err)
{
	struct np_graph *g;
	struct stat st;
	int rc = !fstat(fd, &st) && S_ISDIR(st.st_mode) ?
		 cli_graph_load(path, NULL, &g, err) :
		 np_goal_read(fd, path, &g, err);

	if (rc)
		return rc;
	rc = np_replay_of_graph(g, out, err);
	np_graph_free(g);
	return rc;
}

int cli_replay_read(const char *path, struct np_replay_app **out,
		    struct np_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0)
		return np_errf(err, -errno, "%s: %s", path, strerror(errno));
	rc = is_workload(fd) ? np_workload_read(path, out, err) :
			       read_graph(fd, path, out, err);
	close(fd);
	return rc;
}

/* "0,0,1,1": of all tasks of all programs. */
static int place_list(const struct cli_cmd *cmd, struct cli_replay *r)
{
	const char *at = r->map;
	uint32_t most = 0;

	for (size_t k = 0; k < r->n; k++)
		for (uint32_t t = 0; t < r->p[k].n_tasks; t++) {
			char *end;
			unsigned long v = strtoul(at, &end, 10);

			if (!isdigit((unsigned char)*at) || v >= 1u << 20 ||
			    (*end && *end != ','))
				return cli_usage(cmd, "--map: expected one of "
						 "node, core, random or the "
						 "nodes of all tasks as "
						 "0,0,1");
			r->p[k].node_of[t] = (uint32_t)v;
			most = v > most ? (uint32_t)v : most;
			at = end + (*end == ',');
		}
	if (*at)
		return cli_usage(cmd, "--map: more nodes than tasks");
	if (r->n_nodes && most >= r->n_nodes)
		return cli_usage(cmd, "--map: node %u, but --nodes=%u", most,
				 r->n_nodes);
	r->play.n_nodes = r->n_nodes ? r->n_nodes : most + 1;
	return 0;
}

/* Each program has nodes of its own, one after the other. */
int cli_replay_place(const struct cli_cmd *cmd, struct cli_replay *r)
{
	struct np_err err = NP_ERR_INIT;
	uint32_t first = 0;

	if (r->map)
		return place_list(cmd, r);
	for (size_t k = 0; k < r->n; k++) {
		struct cli_replay_program *p = &r->p[k];
		uint32_t n = r->n_nodes ? r->n_nodes :
			     (p->n_tasks + r->cores - 1) / r->cores;

		if (np_mapping_make(r->mapping, p->n_tasks, n, r->cores,
				    r->seed, p->node_of, &err))
			return cli_fail("%s: %s", p->path, err.text);
		for (uint32_t t = 0; t < p->n_tasks; t++)
			p->node_of[t] += first;
		first += n;
	}
	r->play.n_nodes = first;
	return 0;
}
