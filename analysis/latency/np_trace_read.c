#include "np_trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_kind.h"
#include "np_read.h"
#include "np_text.h"
#include "np_trace_reader.h"

#define PIECE 65536 /* read at a time */
#define COMMENTS 4096 /* bytes at the beginning of a text, at most */

/*
 * Regular files only; *got: so many bytes of the header are there.  flags:
 * O_NOFOLLOW, as traces lie where their programs' users may put links to files
 * of whoever reads them; or 0.
 */
static int open_at(const char *path, int flags, FILE **out,
		   struct np_trace_header *h, size_t *got, struct np_err *err)
{
	struct stat st;
	int fd = np_read_open(path, flags, &st);

	if (fd < 0)
		return np_errf(err, fd, "%s: %s", path, fd == -EINVAL ?
			       np_read_irregular(&st) : fd == -ELOOP ?
			       "a symbolic link, which is not followed" :
			       strerror(-fd));
	*out = fdopen(fd, "r");
	if (!*out) {
		close(fd);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	setvbuf(*out, NULL, _IOFBF, PIECE);
	*got = fread(h, 1, sizeof(*h), *out);
	return 0;
}

static int open_file(const char *path, FILE **out, struct np_trace_header *h,
		     size_t *got, struct np_err *err)
{
	return open_at(path, O_NOFOLLOW, out, h, got, err);
}

static bool is_binary(const struct np_trace_header *h, size_t got)
{
	return got >= sizeof(h->magic) &&
	       !memcmp(h->magic, NP_TRACE_MAGIC, sizeof(h->magic));
}

static int no_read(const char *path, struct np_err *err)
{
	return np_errf(err, -EIO, "%s: %s", path, strerror(EIO));
}

static void rewind_to(struct np_trace_reader *r, bool again)
{
	r->again = again;
	r->line = 0;
	r->n_requests = r->n_uses = r->n_ids = r->next_id = 0;
	r->form->rewind(r);
}

static int first_pass(struct np_trace_reader *r)
{
	struct np_trace_event ev;
	int rc;

	while ((rc = np_trace_next(r, &ev)) == 1)
		r->whole = ev.kind == NP_TRACE_FINALIZE;
	return rc;
}

int np_trace_open(const char *path, uint32_t rank, uint32_t size,
		  struct np_trace_reader **out, struct np_err *err)
{
	const struct np_trace_form *form;
	struct np_trace_header h;
	struct np_trace_reader *r;
	struct stat st = { .st_size = 0 };
	size_t got;
	FILE *f;
	int rc = open_file(path, &f, &h, &got, err);

	if (rc)
		return rc;
	rc = np_kind_check((const char *)&h, got, NP_KIND_TRACE, path, err);
	if (rc) {
		fclose(f);
		return rc;
	}
	form = is_binary(&h, got) ? &np_trace_binary : &np_trace_text;
	r = calloc(1, form->bytes);
	if (!r) {
		fclose(f);
		return np_errf(err, -ENOMEM, "out of memory");
	}
	fstat(fileno(f), &st);
	*r = (struct np_trace_reader){ .form = form, .f = f, .rank = rank,
		.size = size, .err = err, .path = path,
		.bytes = (uint64_t)st.st_size };
	rc = form->begin(r, &h, got);
	if (!rc) {
		rewind_to(r, false);
		rc = first_pass(r);
	}
	if (rc) {
		np_trace_close(r);
		return rc;
	}
	rewind_to(r, true);
	*out = r;
	return 0;
}

void np_trace_close(struct np_trace_reader *r)
{
	if (!r)
		return;
	r->form->close(r);
	fclose(r->f);
	free(r->request);
	free(r->use);
	free(r->id);
	free(r->list);
	free(r);
}

int np_trace_next(struct np_trace_reader *r, struct np_trace_event *ev)
{
	int rc;

	if (r->next_id < r->n_ids) {
		*ev = (struct np_trace_event){ .line = r->line };
		np_trace_started(r, ev);
		return 1;
	}
	rc = r->form->next(r, ev);
	return rc <= 0 && ferror(r->f) ? no_read(r->path, r->err) : rc;
}

bool np_trace_is_whole(const struct np_trace_reader *r)
{
	return r->whole;
}

/* Does what follows its comments begin as the text of liballprof does? */
static bool is_text(FILE *f)
{
	char begin[COMMENTS + 1];
	const char *at = begin;

	rewind(f);
	begin[fread(begin, 1, COMMENTS, f)] = '\0';
	while (*at == '#') {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return !strncmp(at, "MPI_", 4);
}

bool np_trace_is(const char *path)
{
	struct np_trace_header h;
	size_t got;
	bool is;
	FILE *f;

	if (open_at(path, 0, &f, &h, &got, NULL))
		return false;
	is = is_binary(&h, got) || is_text(f);
	fclose(f);
	return is;
}

int np_trace_check(const char *path, struct np_err *err)
{
	struct np_trace_header h;
	size_t got;
	FILE *f;
	int rc = open_file(path, &f, &h, &got, err);

	if (rc)
		return rc;
	fclose(f);
	return np_kind_check((const char *)&h, got, NP_KIND_TRACE, path, err);
}

int np_trace_program(const char *path, char *out, struct np_err *err)
{
	struct np_trace_header h;
	size_t got;
	FILE *f;
	int rc = open_file(path, &f, &h, &got, err);

	if (rc)
		return rc;
	fclose(f);
	*out = '\0';
	if (is_binary(&h, got) && got == sizeof(h))
		snprintf(out, NP_TRACE_NAME, "%.*s", NP_TRACE_NAME - 1,
			 h.program);
	np_text_plain(out);
	return 0;
}

int np_trace_size(const char *path, uint32_t *size, struct np_err *err)
{
	struct np_trace_header h;
	size_t got;
	FILE *f;
	int rc = open_file(path, &f, &h, &got, err);

	if (rc)
		return rc;
	*size = is_binary(&h, got) && got == sizeof(h) ? h.size : 0;
	if (ferror(f))
		rc = no_read(path, err);
	else if (*size > NP_TRACE_MAX_RANKS)
		rc = np_errf(err, -EINVAL, "%s: %u ranks, expected at most "
			     "%u", path, *size, NP_TRACE_MAX_RANKS);
	fclose(f);
	return rc;
}
