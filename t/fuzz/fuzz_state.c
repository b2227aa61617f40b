/* What placement left: as a whole state, and as a job that ended. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "np_hostlist.h"
#include "np_state.h"

/* Leaves are expanded by netprof explain. */
static void expand(const char *leaves)
{
	char **names, shared[64];
	size_t n;

	if (!np_hostlist_expand(leaves, &names, &n, NULL))
		np_names_free(names, n);
	np_hostlist_shared(leaves, "leaf[0-7]", shared, sizeof(shared));
}

/* What was read can be written, and read again. */
static void check_state(struct np_state *s)
{
	struct np_state again;
	char *text = NULL;

	if (np_state_put(s, &text, NULL) ||
	    np_state_get(text, strlen(text), "fuzz", &again, NULL) ||
	    again.n_jobs != s->n_jobs || again.n_leaves != s->n_leaves)
		abort();
	np_state_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct np_accounting_record ended;
	struct np_state state;

	if (!np_state_get(text, size, "fuzz", &state, NULL)) {
		for (size_t i = 0; i < state.n_jobs; i++)
			expand(state.job[i].leaves);
		check_state(&state);
		np_state_free(&state);
	}
	if (!np_accounting_parse(text, size, &ended)) {
		expand(ended.leaves);
		np_accounting_record_free(&ended);
	}
	return 0;
}
