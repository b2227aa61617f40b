/* Queueing networks for tests: some with known solutions, and random ones. */
#ifndef NP_T_SOME_NETWORK_H
#define NP_T_SOME_NETWORK_H

#include <stdio.h>

#include "np_qn.h"
#include "np_rng.h"

#define T_STATIONS 10
#define T_CLASSES 4
#define T_LOADS 64

/* Contains pointers into itself: must not be copied. */
struct t_network {
	struct np_qn net;
	struct np_qn_station station[T_STATIONS];
	struct np_qn_class class[T_CLASSES];
	double visits[T_STATIONS][T_CLASSES], service[T_STATIONS][T_CLASSES];
	double loads[T_STATIONS][T_LOADS];
	/* From t/data/queueing-networks.txt; -1: not given. */
	char name[64], method[16];
	double x[T_CLASSES];
	double present[T_STATIONS][T_CLASSES], busy[T_STATIONS][T_CLASSES];
};

/* No limits except those of the machine. */
extern const struct np_qn_cost t_any_cost;

/* Single-server stations with one visit and no service time. */
void t_network_make(struct t_network *t, size_t n_classes, size_t n_stations);

/* Reads the next network; returns 0 at the end of the file. */
int t_network_next(FILE *f, struct t_network *t);

enum t_kinds { T_SIMPLE, T_SERVERS, T_ALL_KINDS };

/*
 * Up to T_STATIONS stations and `customers` per class; some stations are not
 * visited, and some classes may have no customers.
 */
void t_network_random(struct np_rng *r, enum t_kinds kinds, size_t n_classes,
		      size_t customers, struct t_network *t);

/* Moves some customers to a second, identical class. */
void t_network_split(struct t_network *t, uint64_t customers);

/* Little's law and conservation of customers, within rel of the customers. */
int t_network_conserves(const struct np_qn *net, const struct np_qn_solution *s,
			double rel);

/* Tests the n_wanted solutions of the file for this method, one row each. */
void t_network_meets(const char *method, np_qn_method *solve, double rel,
		     unsigned n_wanted);

/*
 * Conservation, Little's law and capacity over random networks; no utilisation
 * exceeds 1 + over.
 */
void t_network_laws(const char *name, np_qn_method *solve, enum t_kinds kinds,
		    size_t n_classes, double over);

/* Whichever allocation fails, the method reports it and leaks nothing. */
void t_network_survives_no_memory(np_qn_method *solve, enum t_kinds kinds);

#endif
