package hub

import "sync"

// queue is what one goroutine takes and any others put. Its mutex is taken with or without Hub.mu.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	over  bool
	wake  chan struct{} // one token: items or over has changed
}

func newQueue[T any]() queue[T] { return queue[T]{wake: make(chan struct{}, 1)} }

// put does not block; false: the queue is over.
func (q *queue[T]) put(item T) bool {
	q.mu.Lock()
	over := q.over
	if !over {
		q.items = append(q.items, item)
	}
	q.mu.Unlock()
	if !over {
		q.token()
	}
	return !over
}

func (q *queue[T]) token() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for items; nil: the queue is over.
func (q *queue[T]) take() []T {
	for range q.wake {
		q.mu.Lock()
		batch, over := q.items, q.over
		q.items = nil
		q.mu.Unlock()
		if over || len(batch) > 0 {
			return batch
		}
	}
	return nil
}

// end ends the queue, and returns what was not taken.
func (q *queue[T]) end() []T {
	q.mu.Lock()
	rest := q.items
	q.items, q.over = nil, true
	q.mu.Unlock()
	q.token()
	return rest
}
