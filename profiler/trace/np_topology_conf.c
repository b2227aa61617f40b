#include "np_topology_conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "np_hostlist.h"
#include "np_numbers.h"
#include "np_read.h"

#define FILE_MAX ((size_t)16 << 20)
#define NAMES_MAX 65536u /* switches, and nodes */

/* Switches by name; they may be named before they are defined. */
struct switches {
	struct np_numbers names;
	uint32_t parent[NAMES_MAX + 1];
	bool defined[NAMES_MAX];
	uint32_t leaf[NAMES_MAX]; /* of nodes */
	uint32_t n_nodes;
};

struct line {
	struct switches *s;
	uint32_t at; /* the switch that the line is about */
};

static int find(struct switches *s, const char *name, uint32_t *out)
{
	size_t n = s->names.n;

	s->parent[n] = NP_TOPOLOGY_ROOT; /* if it is new */
	*out = np_numbers_get(&s->names, name, strlen(name));
	return *out == NP_NO_NUMBER ? -ENOMEM : *out == NAMES_MAX ? -E2BIG : 0;
}

static int define(struct switches *s, const char *name, uint32_t *out)
{
	int rc = find(s, name, out);

	if (!rc && s->defined[*out])
		return -EEXIST;
	if (!rc)
		s->defined[*out] = true;
	return rc;
}

static int add_node(void *arg, const char *name)
{
	struct line *l = arg;

	(void)name;
	if (l->s->n_nodes == NAMES_MAX)
		return -E2BIG;
	l->s->leaf[l->s->n_nodes++] = l->at;
	return 0;
}

static int add_switch(void *arg, const char *name)
{
	struct line *l = arg;
	uint32_t below;
	int rc = find(l->s, name, &below);

	if (rc)
		return rc;
	if (l->s->parent[below] != NP_TOPOLOGY_ROOT)
		return -EEXIST;
	l->s->parent[below] = l->at;
	return 0;
}

static int each(const char *list, np_hostlist_f *f, struct line *l)
{
	size_t len;

	while ((len = np_hostlist_word(&list))) {
		int rc = np_hostlist_walk(list, len, f, l);

		if (rc)
			return rc;
		list += len;
	}
	return 0;
}

/* "Nodes=n[0-3]": the value if the word has that key, else NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncasecmp(word, key, n) || word[n] != '=' ? NULL :
							     word + n + 1;
}

/* One line without its comment; it is cut into words. */
static int take_line(struct switches *s, char *text)
{
	struct line l = { s, NP_TOPOLOGY_ROOT };
	char *save = NULL;

	for (char *w = strtok_r(text, " \t\r", &save); w;
	     w = strtok_r(NULL, " \t\r", &save)) {
		const char *name = value_of(w, "SwitchName");
		const char *nodes = value_of(w, "Nodes");
		const char *below = value_of(w, "Switches");
		int rc = 0;

		if (name)
			rc = define(s, name, &l.at);
		else if ((nodes || below) && l.at == NP_TOPOLOGY_ROOT)
			rc = -EINVAL;
		else if (nodes)
			rc = each(nodes, add_node, &l);
		else if (below)
			rc = each(below, add_switch, &l);
		if (rc)
			return rc;
	}
	return 0;
}

static const char *why(int rc)
{
	switch (rc) {
	case -EEXIST: return "a switch that is there twice";
	case -E2BIG: return "more than 65536 switches or nodes";
	case -ENOMEM: return "no memory";
	default: return "expected SwitchName=... with Nodes=n[0-3] or "
			"Switches=s[0-1]";
	}
}

static int take(struct switches *s, const char *path, char *text,
		struct np_err *err)
{
	unsigned n = 1;

	for (char *line; (line = strsep(&text, "\n")); n++) {
		int rc;

		line[strcspn(line, "#")] = '\0';
		rc = take_line(s, line);
		if (rc)
			return np_errf(err, rc == -EEXIST ? -EINVAL : rc,
				       "%s:%u: %s", path, n, why(rc));
	}
	if (!s->n_nodes)
		return np_errf(err, -EINVAL, "%s: no switch has nodes", path);
	return 0;
}

int np_topology_conf(const char *path, struct np_topology **out,
		     struct np_err *err)
{
	struct switches *s = calloc(1, sizeof(*s));
	struct np_err what = NP_ERR_INIT;
	char *text = NULL;
	size_t len;
	int rc = -ENOMEM;

	if (!s)
		return np_errf(err, rc, "%s: no memory to read", path);
	rc = np_read_file(path, FILE_MAX, &text, &len, err);
	if (!rc) {
		rc = take(s, path, text, err);
		free(text);
	}
	if (!rc) {
		rc = np_topology_tree(s->parent, (uint32_t)s->names.n, s->leaf,
				      s->n_nodes, out, &what);
		if (rc)
			np_errf(err, rc, "%s: %.128s", path, what.text);
	}
	np_numbers_free(&s->names);
	free(s);
	return rc;
}
