package hold

import "time"

// Bodies adds up, for each line of keys, the bodies that a store keeps for replays, and selects which to drop to keep
// the sum within a bound: the oldest. The claim of such a reply stays, so that a repetition is still known, and not
// charged again. L identifies a line, and B a body.
//
// The zero value is empty. It is not safe for concurrent use.
type Bodies[L comparable, B any] struct{ lines map[L]*bodyLine[B] }

// bodyLine is the bodies of one line, oldest first.
type bodyLine[B any] struct {
	list  []body[B]
	bytes int64
}

type body[B any] struct {
	id      B
	bytes   int64
	expires time.Time
}

// Add counts a body and returns those to be dropped, so that no more bytes than limit are left; 0 means
// no limit. A body without bytes is not counted. Those that have expired at now are forgotten.
func (b *Bodies[L, B]) Add(line L, id B, bytes int, now, expires time.Time, limit int64) (drop []B) {
	if bytes == 0 {
		return nil
	}
	l := b.lines[line]
	if l == nil {
		if b.lines == nil {
			b.lines = make(map[L]*bodyLine[B])
		}
		l = new(bodyLine[B])
		b.lines[line] = l
	}
	l.expire(now)
	l.list = append(l.list, body[B]{id, int64(bytes), expires})
	l.bytes += int64(bytes)
	for limit > 0 && l.bytes > limit {
		drop = append(drop, l.list[0].id)
		l.pop()
	}
	return drop
}

// Sweep forgets the bodies that have expired.
func (b *Bodies[L, B]) Sweep(now time.Time) {
	for name, l := range b.lines {
		if l.expire(now); len(l.list) == 0 {
			delete(b.lines, name)
		}
	}
}

// Precede takes in bodies that are older than all that were added. The other value is not used any more.
func (b *Bodies[L, B]) Precede(older Bodies[L, B]) {
	if older.lines == nil {
		return
	}
	for name, l := range b.lines {
		if o := older.lines[name]; o != nil {
			o.list = append(o.list, l.list...)
			o.bytes += l.bytes
		} else {
			older.lines[name] = l
		}
	}
	b.lines = older.lines
}

func (l *bodyLine[B]) expire(now time.Time) {
	for len(l.list) > 0 && !now.Before(l.list[0].expires) {
		l.pop()
	}
}

func (l *bodyLine[B]) pop() {
	l.bytes -= l.list[0].bytes
	l.list[0] = body[B]{}
	l.list = l.list[1:]
}
