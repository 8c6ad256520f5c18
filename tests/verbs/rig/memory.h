/* memory.h - keys: memory regions and windows, and the right to access them. */
#ifndef RIG_MEMORY_H
#define RIG_MEMORY_H

#include <infiniband/verbs.h>
#include <sys/uio.h>

enum { RIG_KEYS = 1 << 16, RIG_KEY_BITS = 8 };
enum rig_key_type { RIG_K_REGION = 1, RIG_K_WINDOW1, RIG_K_WINDOW2 };

/*
 * value is what programs have: the index, and 8 bits that change. `lock` is held while a peer's
 * request accesses the memory, so that a thread that deregisters it waits.
 */
struct rig_key {
	struct rig_slot slot;
	pthread_mutex_t lock;
	uint32_t value, type, pd, device;
	uint32_t valid; /* a window: it is bound */
	uint32_t access, parent /* of a window: the region's index */, qpn /* that bound type 2 */;
	uint64_t address, start, length; /* start: what peers call the address */
	_Atomic uint32_t windows;        /* bound to a region */
};

struct rig_mr {
	struct ibv_mr mr;
	struct rig_key *key;
};

struct rig_mw {
	struct ibv_mw mw;
	struct rig_key *key;
};

struct rig_qp;
struct rig_send;

/* Local memory: 1 if an lkey of that process and domain allows it; *at is the address. */
int rig_local(uint32_t process, uint32_t pd, const struct ibv_sge *, int writes, struct iovec *at);
/* Memory of a responder: its key, locked, or NULL; rig_unlock(&key->lock) ends the access. */
struct rig_key *rig_hold(const struct rig_qp *responder, uint32_t rkey, uint64_t address,
                         uint64_t length, unsigned access, struct iovec *at);
/* Requests that bind and invalidate: a status. */
enum ibv_wc_status rig_bind(const struct rig_qp *, const struct rig_send *);
enum ibv_wc_status rig_invalidate(const struct rig_qp *, uint32_t key, int remote);

struct ibv_mw *rig_alloc_mw(struct ibv_pd *, enum ibv_mw_type);
int rig_dealloc_mw(struct ibv_mw *);
int rig_bind_mw(struct ibv_qp *, struct ibv_mw *, struct ibv_mw_bind *);
int rig_bind_check(struct ibv_qp *, const struct ibv_send_wr *);

/*
 * copy.c: from one process's memory to another's, of which one is the caller's. 0, or EFAULT with
 * *source_failed set, or ESRCH: that process is gone.
 */
struct rig_memory {
	uint32_t process;
	int n;
	struct iovec *at;
};
int rig_copy(struct rig_memory from, struct rig_memory to, size_t n, int *source_failed);

#endif
