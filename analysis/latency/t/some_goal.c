#include "some_goal.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "t.h"
#include "np_goal.h"

int some_goal(const char *text, size_t len, struct np_graph **out,
	      struct np_err *err)
{
	int fd = memfd_create("some.goal", 0), rc;

	if (fd < 0 || write(fd, text, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET))
		abort();
	rc = np_goal_read(fd, "some.goal", out, err);
	close(fd);
	return rc;
}

int some_goal_file(const char *name, struct np_graph **out, struct np_err *err)
{
	int fd = open(t_data(name), O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return np_errf(err, -errno, "%s", name);
	rc = np_goal_read(fd, name, out, err);
	close(fd);
	return rc;
}
