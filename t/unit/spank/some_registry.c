#include "some_registry.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "np_rendezvous.h"

struct some_registry w;

static void on_report(size_t member, char *line, void *arg)
{
	size_t used = strlen(w.reports);

	T_CHECK(arg == &w);
	snprintf(w.reports + used, sizeof(w.reports) - used, "%zu:%.60s|",
		 member, line);
	line[0] = 'x'; /* it may be changed */
}

int some_rendezvous(const uint16_t range[2], struct np_rendezvous_entry *out,
		    struct np_err *err)
{
	char text[NP_RENDEZVOUS_TEXT] = "";
	struct np_conf conf;
	int fd;

	np_conf_init(&conf);
	fd = np_rendezvous_open(&conf, range, text, sizeof(text), err);
	if (fd >= 0)
		T_CHECK(!np_rendezvous_find(text, 0, out));
	return fd;
}

void registry_end(void)
{
	np_registry_free(w.p);
	while (w.n_clients)
		close(w.client[--w.n_clients]);
	w.p = NULL;
}

void registry_begin(void)
{
	struct np_rendezvous_entry v;
	int fd;

	registry_end();
	w = (struct some_registry){ .now_sec = 100 };
	fd = some_rendezvous(NULL, &v, NULL);
	w.port = v.port;
	strcpy(v.agent_cookie, G);
	strcpy(v.collector_cookie, H);
	w.listening = fd;
	w.p = np_registry_new(fd, &v);
	T_CHECK(fd >= 0 && w.p);
}

void serve(void)
{
	np_registry_serve(w.p, w.now_sec, on_report, &w);
}

int connect_client(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(w.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	T_CHECK(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	T_CHECK(w.n_clients < NP_ARRAY_SIZE(w.client));
	w.client[w.n_clients++] = fd;
	return fd;
}

void leave(int fd)
{
	size_t i = 0;

	while (w.client[i] != fd)
		i++;
	w.client[i] = w.client[--w.n_clients];
	close(fd);
}

void send_text(int fd, const char *text)
{
	size_t len = strlen(text);

	T_CHECK(send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

bool is_shut(int fd)
{
	char c;
	ssize_t got = recv(fd, &c, 1, MSG_PEEK);

	return !got || (got < 0 && errno != EAGAIN);
}

int connect_agent(const char *kind)
{
	size_t number = np_registry_size(w.p);
	int fd = connect_client();

	send_text(fd, t_text(G " %s %zu n%zu\n", kind, number, number));
	UNTIL(np_registry_size(w.p) == number + 1);
	return fd;
}

const struct np_agent_info *context(size_t member)
{
	return np_registry_agent(w.p, member);
}

struct np_registry_count probes(void)
{
	return np_registry_count(w.p, NP_AGENT_PROBE);
}
