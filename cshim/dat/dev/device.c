/* device.c - adapters: what contexts name, completion queues; pairs and queues by serial. */
#include <string.h>

#include "dat/dev/room.h"

dev_adapter *dev_adapters;
int dev_work;

enum { MEMORY_FIRST = 64 };

dev_adapter *dev_open(uint32_t max_inline, uint32_t lacks)
{
	dev_adapter *adapter = calloc(1, sizeof *adapter);
	dev_memory *memory = calloc(MEMORY_FIRST, sizeof *memory);

	if (!adapter || !memory) {
		free(adapter);
		free(memory);
		return NULL;
	}
	adapter->names.memory = memory;
	adapter->names.mask = MEMORY_FIRST - 1;
	adapter->names.max_inline = max_inline;
	adapter->names.lacks = lacks;
	adapter->next = dev_adapters;
	dev_adapters = adapter;
	return adapter;
}

void dev_close(dev_adapter *adapter)
{
	dev_adapter **at = &dev_adapters;

	while (*at != adapter)
		at = &(*at)->next;
	*at = adapter->next;
	while (adapter->pools)
		dev_remove_pool(adapter, adapter->pools);
	free(adapter->names.memory);
	free(adapter);
}

static void put(dev_memory *table, uint32_t mask, const dev_memory *memory)
{
	uint32_t i = dev_hash(memory->context);

	while (table[i & mask].of)
		i++;
	table[i & mask] = *memory;
}

/* Makes the table twice as large. */
static int grow(dev_adapter *adapter)
{
	uint32_t room = (adapter->names.mask + 1) * 2, i;
	dev_memory *table = room ? calloc(room, sizeof *table) : NULL;

	if (!table)
		return 0;
	for (i = 0; i <= adapter->names.mask; i++) {
		if (adapter->names.memory[i].of)
			put(table, room - 1, &adapter->names.memory[i]);
	}
	free(adapter->names.memory);
	adapter->names.memory = table;
	adapter->names.mask = room - 1;
	return 1;
}

int dev_add_memory(dev_adapter *adapter, const dev_memory *memory)
{
	dev_remove_memory(adapter, memory->context, memory->of); /* an older one of that key */
	if (adapter->some >= (adapter->names.mask + 1) / 2 && !grow(adapter))
		return 0;
	put(adapter->names.memory, adapter->names.mask, memory);
	adapter->some++;
	return 1;
}

/* An element behind the free place that belongs there, or in front of it, moves there. */
void dev_remove_memory(dev_adapter *adapter, uint32_t context, uint32_t of)
{
	const dev_memory *found = memory_of(adapter, context, of);
	uint32_t mask = adapter->names.mask, hole, i;

	if (!found)
		return;
	hole = i = (uint32_t)(found - adapter->names.memory);
	adapter->some--;
	for (;;) {
		i = (i + 1) & mask;
		if (!adapter->names.memory[i].of)
			break;
		if (((i - dev_hash(adapter->names.memory[i].context)) & mask) >= ((i - hole) & mask)) {
			adapter->names.memory[hole] = adapter->names.memory[i];
			hole = i;
		}
	}
	memset(&adapter->names.memory[hole], 0, sizeof adapter->names.memory[hole]);
}

dev_pool *dev_add_pool(dev_adapter *adapter, uint64_t cq)
{
	dev_pool *pool = calloc(1, sizeof *pool), **at = &adapter->pools;

	if (!pool)
		return NULL;
	while (*at) /* oldest first */
		at = &(*at)->next;
	pool->adapter = adapter;
	pool->cq = (struct ibv_cq *)(uintptr_t)cq;
	*at = pool;
	return pool;
}

void dev_remove_pool(dev_adapter *adapter, dev_pool *pool)
{
	dev_pool **at = &adapter->pools;

	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	free(pool);
}
