#include "np_goal.h"

#include <endian.h>
#include <string.h>

#include "np_goal_text.h"

#define COOKIE 4223

int np_goal_read(int fd, const char *name, struct np_graph **out,
		 struct np_err *err)
{
	struct np_goal_in in;
	uint64_t cookie = 0;
	int rc = np_goal_in_open(&in, fd, name, err);

	if (!rc) {
		if (in.end - in.at >= sizeof(cookie))
			memcpy(&cookie, in.buf + in.at, sizeof(cookie));
		rc = le64toh(cookie) == COOKIE ?
			     np_goal_read_binary(&in, out, err) :
			     np_goal_read_text(&in, out, err);
	}
	np_goal_in_close(&in);
	return rc;
}
