/* verbs.c - what C calls of an adapter by its context's table. */
#include "ctest/verbs/verbs.h"

#include <stdlib.h>

#include "_cgo_export.h"

_Static_assert(offsetof(struct ibv_qp, context) == 0 && offsetof(struct ibv_cq, context) == 0 &&
                       offsetof(struct ibv_srq, context) == 0,
               "an object begins with its context");

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = wr;
	return verbsPostSend(qp, wr);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return verbsPostRecv(qp->context, qp, NULL, wr);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	*bad = wr;
	return verbsPostRecv(srq->context, NULL, srq, wr);
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	return verbsPollCQ(cq, most, wc);
}

struct ibv_context *verbs_context(void)
{
	struct ibv_context *context = calloc(1, sizeof *context);

	if (!context)
		abort();
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.poll_cq = poll_cq;
	return context;
}

void *verbs_object(struct ibv_context *context)
{
	union {
		struct ibv_context *context;
		struct ibv_qp qp;
		struct ibv_cq cq;
		struct ibv_srq srq;
		struct ibv_ah ah;
	} *object = calloc(1, sizeof *object);

	if (!object)
		abort();
	object->context = context;
	return object;
}
