#include "np_update.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "np_bits.h"

/* The note is not written again for less than this. */
#define HELD_STEP_SEC 30

/* The user's exclusions as text: as they were written, if they are those. */
static char *user_text(const struct np_seen *seen, const struct np_site *site,
		       uint64_t *scratch)
{
	size_t bytes = site->words * sizeof(*scratch);

	if (!np_bits_any(seen->user, site->words))
		return NULL;
	if (seen->note.user && !np_site_parse(site, seen->note.user, scratch) &&
	    !memcmp(scratch, seen->user, bytes))
		return strdup(seen->note.user);
	return np_site_format(site, seen->user);
}

static int64_t begin_of(const struct np_seen *seen, const struct np_outcome *o,
			int64_t now_sec)
{
	int64_t begin = seen->note.begin_sec;

	if (o->until_sec)
		return o->until_sec > begin ? o->until_sec : begin;
	if (seen->begin_sec == begin || !seen->begin_sec)
		return 0;
	return begin ? begin : now_sec;
}

static char *comment_of(const struct np_seen *seen,
			const struct np_outcome *o, char *user, char *ours)
{
	bool decided = o->action != NP_ACT_NONE;
	struct np_note n = {
		.user = decided ? user : NULL, .ours = ours,
		.until_sec = o->until_sec, .decided = decided,
		.begin_sec = o->until_sec ? seen->note.begin_sec : 0,
		.held_sec = seen->note.held_sec,
	};

	strcpy(n.app, seen->note.app);
	if (fabs(o->held_sec - n.held_sec) >= HELD_STEP_SEC ||
	    !o->held_sec)
		n.held_sec = o->held_sec;
	return np_note_write(seen->comment,
			     n.app[0] || n.decided ? &n : NULL);
}

static int fill(const struct np_view *v, const struct np_seen *seen,
		const struct np_outcome *o, bool force, uint64_t *scratch,
		struct np_update *u)
{
	const struct np_site *site = v->site;
	size_t words = site->words;
	char *user = user_text(seen, site, scratch + words);
	const char *stands = seen->comment ? seen->comment : "";
	int rc = 0;

	memset(scratch, 0, words * sizeof(*scratch));
	if (o->leaves) {
		u->ours = np_site_closed(site, o->leaves);
		np_leaves_excluded(site->leaves, o->leaves, scratch);
	}
	/* NULL is also what both give when there is no memory. */
	if ((!user && np_bits_any(seen->user, words)) ||
	    (!u->ours && np_bits_any(scratch, words))) {
		free(user);
		return -ENOMEM;
	}
	np_bits_or(scratch, seen->user, words);
	u->comment = comment_of(seen, o, user, u->ours);
	if (!u->comment)
		rc = -ENOMEM;
	if (!rc && (force || memcmp(scratch, seen->now, words * sizeof(*scratch)))) {
		u->exc_nodes = np_note_join(user, u->ours);
		rc = u->exc_nodes ? 0 : -ENOMEM;
	}
	free(user);
	u->begin_sec = begin_of(seen, o, v->now_sec);
	if (u->begin_sec == seen->begin_sec)
		u->begin_sec = 0;
	if (force && !u->begin_sec)
		u->begin_sec = seen->note.begin_sec ? seen->note.begin_sec :
						      v->now_sec;
	/* An update with the note in it is known to be ours; see np_modify(). */
	if (!rc && !force && !u->exc_nodes && !u->begin_sec &&
	    !strcmp(u->comment, stands)) {
		free(u->comment);
		u->comment = NULL;
	}
	return rc;
}

int np_update_make(const struct np_view *v, size_t job,
		   const struct np_outcome *outcome, bool force,
		   struct np_update *u)
{
	const struct np_outcome nothing = { .held_sec = outcome->held_sec };
	uint64_t *scratch = calloc(2 * v->site->words, sizeof(*scratch));
	int rc;

	*u = (struct np_update){ NULL };
	if (!scratch)
		return -ENOMEM;
	rc = fill(v, &v->job[job], outcome->applied ? outcome : &nothing,
		  force, scratch, u);
	free(scratch);
	if (rc) {
		np_update_clear(u);
		return rc;
	}
	return u->exc_nodes || u->comment || u->begin_sec;
}

void np_update_clear(struct np_update *u)
{
	free(u->exc_nodes);
	free(u->comment);
	free(u->ours);
	*u = (struct np_update){ NULL };
}
