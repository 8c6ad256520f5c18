"""Messages of Python objects and arrays, collectives and one-sided calls by mpi4py; each rank prints a line."""
import array
import os

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size

for n in (0, 1, 100, 5000, 300000):
    mine = {"rank": rank, "bytes": bytes([rank + 1]) * n}
    its = world.sendrecv(mine, dest=right, source=left)
    assert its == {"rank": left, "bytes": bytes([left + 1]) * n}

assert world.allreduce(rank + 1) == size * (size + 1) // 2
assert world.allgather(str(rank)) == [str(r) for r in range(size)]
assert world.alltoall([(rank, r) for r in range(size)]) == [(r, rank) for r in range(size)]
assert world.bcast(list(range(70000)) if rank == 0 else None) == list(range(70000))
assert world.scan(rank + 1) == (rank + 1) * (rank + 2) // 2

half = world.Split(rank % 2, rank)
assert half.allreduce(1) == len(range(rank % 2, size, 2))
half.Free()

requests = [world.isend((rank, i), dest=right, tag=i) for i in range(200)]
for i in reversed(range(200)):
    assert world.recv(source=left, tag=i) == (left, i)
MPI.Request.waitall(requests)

memory = array.array("q", [0] * 1000)
window = MPI.Win.Create(memory, 8, comm=world)
one, old = array.array("q", [1]), array.array("q", [0])
window.Lock_all()
for i in range(100):
    window.Fetch_and_op([one, MPI.INT64_T], [old, MPI.INT64_T], 0)
    window.Flush(0)
data = array.array("q", range(rank, rank + 900))
window.Put([data, MPI.INT64_T], right, [10, 900, MPI.INT64_T])
window.Unlock_all()
world.Barrier()
window.Lock(rank)
assert list(memory[10:910]) == list(range(left, left + 900))
assert rank != 0 or memory[0] == 100 * size
window.Unlock(rank)
window.Free()
os.write(1, b"rank %d passed\n" % rank)  # one write: lines of ranks do not mix
