package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

const benchBody = `{"text":"The Quick Brown Fox Jumps Over The Lazy Dog"}`

// load keeps connections busy for a time. It speaks just as much HTTP as it takes, so that the
// machine works for the server.
func load(addr, secret string, idempotent bool, conns int, d time.Duration) measured {
	var mu sync.Mutex
	var all []time.Duration
	m := measured{}
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			times, failures := loadOne(addr, secret, idempotent, i, begin.Add(d))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			m.Failures += failures
		})
	}
	wg.Wait()
	m.Elapsed = time.Since(begin)
	m.Requests = len(all)
	slices.Sort(all)
	if len(all) > 0 {
		m.P50, m.P99 = all[len(all)/2], all[len(all)*99/100]
	}
	return m
}

func loadOne(addr, secret string, idempotent bool, id int, until time.Time) (times []time.Duration, failures int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, 1
	}
	defer conn.Close()
	head := "POST /public/v1/text/lower HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + secret +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(benchBody)) + "\r\n"
	r := bufio.NewReader(conn)
	var b bytes.Buffer
	for n := 0; ; n++ {
		sent := time.Now()
		if sent.After(until) {
			return times, failures
		}
		b.Reset()
		b.WriteString(head)
		if idempotent {
			fmt.Fprintf(&b, "Idempotency-Key: bench-%06d-%012d\r\n", id, n)
		}
		b.WriteString("\r\n" + benchBody)
		if _, err := conn.Write(b.Bytes()); err != nil {
			return times, failures + 1
		}
		ok, err := readReply(r)
		if err != nil {
			return times, failures + 1
		}
		if !ok {
			failures++
		}
		times = append(times, time.Since(sent))
	}
}

// readReply reads one reply with a Content-Length, and reports whether its status is 200.
func readReply(r *bufio.Reader) (ok bool, err error) {
	for {
		if _, err := r.Peek(r.Buffered() + 1); err != nil { // wait for more than there is
			return false, err
		}
		seen, err := r.Peek(r.Buffered())
		if err != nil {
			return false, err
		}
		end := bytes.Index(seen, []byte("\r\n\r\n"))
		if end < 0 {
			continue
		}
		length, err := contentLength(seen[:end])
		if err != nil {
			return false, err
		}
		ok = bytes.HasPrefix(seen, []byte("HTTP/1.1 200"))
		_, err = r.Discard(end + 4 + length)
		return ok, err
	}
}

// contentLength finds the length of the body in the head of a reply, as net/http spells it.
func contentLength(head []byte) (int, error) {
	_, rest, found := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !found {
		return 0, errors.New("the reply has no Content-Length")
	}
	digits, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(digits))
}
