package metering

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

func TestIDs(t *testing.T) {
	matches(t, `^acc_[a-z2-7]{26}$`, newID("acc_", nil))
	matches(t, `^key_[a-z2-7]{26}$`, newID("key_", nil))
	matches(t, `^req_[a-z2-7]{26}$`, NewRequestID())
	equal(t, "key_abcdefghijklmnopqrstuvwxyz", newID("key_", bytes.NewReader([]byte(
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19"))))
}

func TestIDsOfReaderThatEnds(t *testing.T) {
	first, second := newID("key_", strings.NewReader("short")), newID("key_", strings.NewReader("short"))
	matches(t, `^key_[a-z2-7]{26}$`, first)
	isTrue(t, first != second)
}

func TestRequestIDsAreUnique(t *testing.T) {
	const workers, each = 8, 20_000
	lists := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				lists[w] = append(lists[w], NewRequestID())
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool, workers*each)
	letters := make(map[rune]int)
	for _, list := range lists {
		for _, id := range list {
			isTrue(t, !seen[id])
			seen[id] = true
			for _, c := range id[len("req_"):] {
				letters[c]++
			}
		}
	}
	const mean = workers * each * idLength / 32
	equal(t, 32, len(letters))
	for c, n := range letters {
		isTrue(t, max(mean-n, n-mean) < mean/50, "letter %c: %d", c, n)
	}
}

func BenchmarkNewRequestID(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = NewRequestID()
		}
	})
}
