/*
 * The programs that `netprof validate` measures, as people write them:
 *
 *	program melt
 *	  nodes 4
 *	  directory /home/alice/melt
 *	  srun --mpi=pmix
 *	  run lmp -in in.melt
 *	  longer lmp -in in.melt.long
 *
 * Files are hostile input: whatever is no such list is refused with one line
 * that names file, line, value and what was expected.
 */
#ifndef NP_VALIDATE_LIST_H
#define NP_VALIDATE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "np_app.h"
#include "np_err.h"

#define NP_VALIDATE_MAX_BYTES (1u << 20)
#define NP_VALIDATE_MAX_PROGRAMS 64
#define NP_VALIDATE_MAX_WORDS 32 /* of a command */
#define NP_VALIDATE_MAX_OPTIONS 12 /* of srun */
#define NP_VALIDATE_MAX_NODES 65536
#define NP_VALIDATE_MAX_TASKS 1024 /* on a node */
#define NP_VALIDATE_BEGINS_SEC 5

struct np_validate_words {
	char **word;
	size_t n;
};

struct np_validate_program {
	char name[NP_APP_MAX + 1];
	uint32_t nodes, per_node;
	char *directory; /* NULL: the current one */
	struct np_validate_words srun, run;
	/* The same work for longer, for its profile and as co-runner; n 0: as
	 * run. */
	struct np_validate_words longer;
	double begins_sec; /* from its start until it communicates */
	double takes_sec;  /* alone, as somebody expects; 0: not said */
};

struct np_validate_list {
	struct np_validate_program *program;
	size_t n;
};

/*
 * text: len bytes; source names it in messages.  Returns 0 (free with
 * np_validate_list_free()), or with err -EINVAL or -ENOMEM.
 */
int np_validate_list_parse(const char *text, size_t len, const char *source,
			   struct np_validate_list *out, struct np_err *err);

/* The same from a regular file; also -errno of opening and reading it. */
int np_validate_list_read(const char *path, struct np_validate_list *out,
			  struct np_err *err);
void np_validate_list_free(struct np_validate_list *l);

/* The command as co-runner, and for the profile. */
const struct np_validate_words *
np_validate_longer(const struct np_validate_program *p);

/*
 * One line for each program, malloc'ed: what must be the same for runs to be
 * compared.  NULL: out of memory.
 */
char *np_validate_list_text(const struct np_validate_list *l);

#endif
