/*
 * route_class.h - which route is the best for transfers of one class of lengths: what is tried,
 * when, and how its time is judged. For route.c.
 */
#ifndef NODE_ROUTE_CLASS_H
#define NODE_ROUTE_CLASS_H

#include "node/route.h"

/* 1 if ns is less by more than what two routes that are as good may differ by; 0: not known. */
int node_class_clearly_less(uint32_t ns, uint32_t than);
/* The fastest pipeline up to one of them, of those whose time is known. */
uint32_t node_class_pipeline(const node_route_class *class, uint32_t last);
/* The route of the next transfer, or stretch, with NODE_ROUTE_TIMED if it is to be timed: a trial
 * or run that has not begun yet begins only if good_moment is set. */
uint32_t node_class_choose(node_route_class *class, uint32_t allowed, int good_moment);
/* 1 if nothing is being tried, and the time of the route in use is known. */
int node_class_is_calm(const node_route_class *class);
/* A transfer for which no route was chosen went by the route in use. */
void node_class_held(node_route_class *class);
/* n transfers, or stretches, for which no route was chosen pay for trials, too. */
void node_class_save(node_route_class *class, uint32_t n);
/* A transfer for which no route was chosen went by route. 1 if it is to be timed. */
int node_class_passed(node_route_class *class, uint32_t route);
/* A transfer that was to be timed took so long, ns for the class's least length. */
void node_class_timed(node_route_class *class, uint32_t route, uint32_t ns);

#endif
