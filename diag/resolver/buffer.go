package resolver

import (
	"bufio"
	"encoding/binary"
	"sync"
)

// A buffer holds one message. Small ones, which are nearly all, are used again.
type buffer struct {
	data  []byte
	small [maxDatagram + 1]byte
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer(n int) *buffer {
	b := buffers.Get().(*buffer)
	if n <= len(b.small) {
		b.data = b.small[:n]
	} else {
		b.data = make([]byte, n)
	}
	return b
}

func (b *buffer) free() {
	b.data = nil
	buffers.Put(b)
}

// A streamReader takes messages off a stream (RFC 1035 section 4.2.2). Being interrupted by a
// deadline, in the middle of a message or not, loses nothing.
type streamReader struct {
	in   *bufio.Reader
	part *buffer // message under way
	have int     // bytes of it
}

func (s *streamReader) next() (*buffer, error) {
	if s.part == nil {
		prefix, err := s.in.Peek(prefixLen)
		if err != nil {
			return nil, err
		}
		s.part, s.have = newBuffer(int(binary.BigEndian.Uint16(prefix))), 0
		s.in.Discard(prefixLen)
	}
	for s.have < len(s.part.data) {
		n, err := s.in.Read(s.part.data[s.have:])
		s.have += n
		if err != nil {
			return nil, err
		}
	}
	b := s.part
	s.part = nil
	return b, nil
}
