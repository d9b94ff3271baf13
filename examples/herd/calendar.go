package main

import "example.com/backoff"

// operation is what is known of an operation that has not ended.
type operation struct {
	policy  backoff.BackOff // nil before the first failure
	process int32           // whose budget it draws on
	next    int32           // in its list
}

// days is the number of lists of a calendar. It must be more than the milliseconds that an operation
// may wait: those of patience and of an attempt.
const days = 1 << 18

const none = int32(-1) // the end of a list

// calendar is a queue of operations by the millisecond at which they are due: a list for each, taken
// in turns. An operation is a number, its place in slots, and the list goes through the slots; so a
// million of them take no allocations of their own, and each costs a constant time.
type calendar struct {
	slots []operation
	heads []int32
	free  int32
	size  int // slots in use
}

func newCalendar() calendar {
	c := calendar{heads: make([]int32, days), free: none}
	for i := range c.heads {
		c.heads[i] = none
	}
	return c
}

// add finds a slot for op, which is in no list until put.
func (c *calendar) add(op operation) int32 {
	c.size++
	if i := c.free; i != none {
		c.free = c.slots[i].next
		c.slots[i] = op
		return i
	}
	c.slots = append(c.slots, op)
	return int32(len(c.slots) - 1)
}

// remove frees the slot of an operation that is in no list.
func (c *calendar) remove(i int32) {
	c.size--
	c.slots[i] = operation{next: c.free}
	c.free = i
}

// put makes operation i due at ms, less than days after the last take.
func (c *calendar) put(i int32, ms int) {
	head := &c.heads[ms%days]
	c.slots[i].next = *head
	*head = i
}

// take empties the list of ms and returns its first operation, or none.
func (c *calendar) take(ms int) int32 {
	head := c.heads[ms%days]
	c.heads[ms%days] = none
	return head
}
