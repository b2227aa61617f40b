/* The twins in memory keep the promises of np_net.h and np_wire.h. */
#include "t.h"
#include "world.h"

#include "np_wire_loop.h"

#include <poll.h>

static void set_up(double delay_sec)
{
	t_world_init(3);
	np_net_loop_set_delay(world.net, delay_sec);
}

static struct np_net *end(size_t i)
{
	return np_net_loop_end(world.net, i);
}

static unsigned progress(size_t i)
{
	return end(i)->ops->progress(end(i));
}

T_FIXTURE(NULL, t_world_free);

T_TEST("messages meet the receive with their tag, in order")
{
	struct np_op sent, a, b;
	char one[4] = "", two[4] = "";

	set_up(1e-3);
	end(0)->ops->send(end(0), 1, 5, "x", 2, &sent);
	end(0)->ops->send(end(0), 1, 6, "y", 2, &sent);
	end(0)->ops->send(end(0), 1, 5, "z", 2, &sent);
	end(1)->ops->recv(end(1), 5, one, sizeof(one), &a);
	end(1)->ops->recv(end(1), 5, two, sizeof(two), &b);
	T_CHECK(progress(1) == 0 && a.status == 1);
	world.now_sec = np_net_loop_next_sec(world.net);
	T_CHECK(progress(1) == 2 && !a.status && !b.status);
	T_CHECK(!strcmp(one, "x") && !strcmp(two, "z"));
	T_CHECK(np_net_loop_next_sec(world.net) == INFINITY);
	T_CHECK(np_net_loop_polls(world.net, 1) == 2);
}

T_TEST("a message longer than its receive fails it")
{
	struct np_op sent, got;
	char buf[2];

	set_up(0);
	end(0)->ops->recv(end(0), 1, buf, sizeof(buf), &got);
	end(1)->ops->send(end(1), 0, 1, "long", 5, &sent);
	T_CHECK(progress(0) == 1 && got.status == -EMSGSIZE);
}

static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

T_TEST("after arm() a message makes the descriptor readable")
{
	struct np_op sent, got;
	char buf[2];
	int fd;

	set_up(0);
	fd = end(1)->fd;
	end(1)->ops->recv(end(1), 1, buf, sizeof(buf), &got);
	T_CHECK(end(1)->ops->arm(end(1)) == 0 && !readable(fd));
	end(0)->ops->send(end(0), 1, 1, "m", 2, &sent);
	T_CHECK(readable(fd));
	T_CHECK(end(1)->ops->arm(end(1)) == -EAGAIN);
	T_CHECK(got.status == 0 && !readable(fd));
}

T_TEST("lost and silent ends")
{
	struct np_op sent, got;
	char buf[2];

	set_up(0);
	end(1)->ops->recv(end(1), 1, buf, sizeof(buf), &got);
	np_net_loop_set_silent(world.net, 0, true);
	end(0)->ops->send(end(0), 1, 1, "m", 2, &sent);
	T_CHECK(progress(1) == 0 && got.status == 1);
	T_CHECK(end(1)->ops->lost(end(1), 0) == 0);
	np_net_loop_kill(world.net, 0);
	T_CHECK(end(1)->ops->lost(end(1), 0) == -ECONNRESET);
	T_CHECK(end(1)->ops->lost(end(1), 2) == 0);
	end(1)->ops->send(end(1), 0, 1, "m", 2, &sent);
	T_CHECK(sent.status == -ECONNRESET);
}

T_TEST("addresses connect")
{
	struct np_err err = NP_ERR_INIT;
	size_t nobody = 9, len;

	set_up(0);
	len = end(2)->address_len;
	T_CHECK(end(0)->ops->connect(end(0), 3, end(2)->address, len, &err) ==
		0);
	T_CHECK(!err.text[0]);
	T_CHECK(end(0)->ops->connect(end(0), 4, &nobody, len, &err) ==
		-ENETUNREACH);
	T_CHECK(err.text[0]);
	T_CHECK(end(0)->ops->connect(end(0), 4, "x", 1, &err) == -EINVAL);
}

T_TEST("all values are there after the fence")
{
	struct np_wire_loop *l = np_wire_loop_new(2);
	struct np_wire *a = np_wire_loop_end(l, 0);
	struct np_wire *b = np_wire_loop_end(l, 1);
	struct np_err err = NP_ERR_INIT;
	void *data;
	size_t len;

	T_CHECK(a->rank == 0 && b->rank == 1 && b->size == 2);
	T_CHECK(a->ops->put(a, "here", 5, &err) == 0);
	T_CHECK(a->ops->fence(a, 1, &err) == -ETIMEDOUT);
	T_CHECK(strstr(err.text, "process 1") != NULL);
	T_CHECK(a->ops->get(a, 1, &data, &len, &err) == -ENOENT);
	T_CHECK(b->ops->put(b, "there!", 7, &err) == 0);
	T_CHECK(a->ops->fence(a, 1, &err) == 0);
	T_CHECK(a->ops->get(a, 1, &data, &len, &err) == 0);
	T_CHECK(len == 7 && !strcmp(data, "there!"));
	free(data);
	np_wire_loop_free(l);
}
