#include "np_invite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define AFTER_PER_NODE_SEC 0.02
#define AFTER_MOST_MORE_SEC 30.0
#define MAX_AFTER_SEC 7200.0

int np_invite_add(const struct np_invite *v, char *text, size_t size,
		  struct np_err *err)
{
	size_t used = strlen(text);
	int len;

	if (!v->join[0] || strpbrk(v->join, " ;\t\n"))
		return np_errf(err, -EINVAL, "LibexecDir: %s: expected a path "
			       "without spaces and ';'", v->join);
	len = snprintf(text + used, size - used, "%s%u %s %s %.3f %u %u %s",
		       used ? ";" : "", v->port, v->member, v->host,
		       v->after_sec, v->max_nodes, v->seed, v->join);
	if (len < 0 || (size_t)len >= size - used) {
		text[used] = '\0';
		return np_errf(err, -EINVAL, "no room for one more component "
			       "of the job");
	}
	return 0;
}

static bool is_token(const char *t)
{
	return strlen(t) == NP_INVITE_TOKEN - 1 &&
	       strspn(t, "0123456789abcdef") == NP_INVITE_TOKEN - 1;
}

static int parse(const char *one, struct np_invite *v)
{
	unsigned port;
	int end = 0;

	if (sscanf(one, "%u %32s %32s %lf %u %u %255[^; ]%n", &port,
		   v->member, v->host, &v->after_sec, &v->max_nodes, &v->seed,
		   v->join, &end) != 7 || (one[end] && one[end] != ';'))
		return -EINVAL;
	if (!port || port > UINT16_MAX || !is_token(v->member) ||
	    !is_token(v->host) || v->join[0] != '/' ||
	    !(v->after_sec >= 0 && v->after_sec <= MAX_AFTER_SEC) ||
	    v->max_nodes < 2 || v->max_nodes > NP_INVITE_MAX_NODES)
		return -EINVAL;
	v->port = (uint16_t)port;
	return 0;
}

int np_invite_find(const char *text, size_t component, struct np_invite *out)
{
	struct np_invite v = { 0 };

	for (; component; component--) {
		text = strchr(text, ';');
		if (!text)
			return -ENOENT;
		text++;
	}
	if (parse(text, &v))
		return -EINVAL;
	*out = v;
	return 0;
}

/* Of 64 bits of state one number (SplitMix64, Steele et al. 2014). */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

bool np_invite_takes(const struct np_invite *v, uint32_t node,
		     uint32_t n_nodes)
{
	uint64_t blocks = v->max_nodes / 2, block, from, to, at;

	if (n_nodes <= v->max_nodes)
		return node < n_nodes;
	/* Blocks of two nodes and more; a pair somewhere in each. */
	block = (uint64_t)node * blocks / n_nodes;
	from = (block * n_nodes + blocks - 1) / blocks;
	to = ((block + 1) * n_nodes + blocks - 1) / blocks;
	at = from + mix(((uint64_t)v->seed << 32) + block) % (to - from - 1);
	return node < n_nodes && (node == at || node == at + 1);
}

uint32_t np_invite_count(const struct np_invite *v, uint32_t n_nodes)
{
	return n_nodes <= v->max_nodes ? n_nodes : v->max_nodes / 2 * 2;
}

double np_invite_after_sec(const struct np_invite *v, uint32_t n_nodes)
{
	return v->after_sec +
	       fmin(AFTER_PER_NODE_SEC * n_nodes, AFTER_MOST_MORE_SEC);
}
