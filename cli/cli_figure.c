#include "cli_figure.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "cli_output.h"
#include "np_picture.h"

static mode_t mode_of_files(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

int cli_figure_save(struct np_figure *f, const char *path)
{
	struct np_err err = NP_ERR_INIT;
	enum np_picture_kind kind;
	char *data = NULL;
	size_t len;
	int rc;

	if (!f)
		return cli_fail("out of memory");
	rc = np_picture_kind(path, &kind, &err);
	if (!rc)
		rc = np_picture_make(f, kind, &data, &len, &err);
	if (!rc)
		rc = cli_write_bytes(path, data, len, mode_of_files(), &err);
	free(data);
	np_figure_free(f);
	return rc ? cli_fail("%s", err.text) : CLI_DONE;
}
