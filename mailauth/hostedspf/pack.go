package hostedspf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/mailauth/spf"
)

const (
	version = "v=spf1"

	// maxLength bounds the text of a published record, in bytes: with it and a name of some length an answer
	// fits into the 512 bytes of a message without extensions (RFC 7208 section 3.4). CONTRACT 6 wants
	// fewer than 450.
	maxLength = 449

	// maxLookups bounds what a published set costs, the term that leads to it included. CONTRACT 6 wants
	// fewer than the 10 of RFC 7208 section 4.6.4: a domain can still have one term of its own beside it.
	maxLookups = spf.MaxLookups - 1

	// maxRecords bounds the published set: a record that leads to it costs one look-up, and each record
	// after the first another.
	maxRecords = maxLookups
)

// pack divides words among records. The first has the name of the host, the others _1, _2 and so on below it.
// It reports false if more than [maxRecords] are needed.
//
// Words in a row with the same sign go into records of their own, which the first includes with that
// sign: each matches if and only if one of the words does, and order is kept. Where even these includes do
// not fit, the first record hands over to a continuation by redirect.
func pack(host string, words []word, ending []string) ([]Record, bool) {
	p := packer{host: host, ending: ending}
	if p.length(words, ending) <= maxLength {
		p.write(host, words, ending)
		return p.records, true
	}
	chunks := divide(words)
	p.choose(chunks)
	p.records = make([]Record, 1, maxRecords) // the first is written last
	var lines []word
	for _, c := range chunks {
		if c.inline {
			lines = append(lines, c.words...)
			continue
		}
		if len(p.records) == maxRecords {
			return nil, false
		}
		lines = append(lines, word{qualifier: c.qualifier, text: "include:" + p.next()})
		for i := range c.words {
			c.words[i].qualifier = spf.QualifierPass
		}
		p.write(p.next(), c.words, nil)
	}
	return p.first(lines)
}

// A packer writes records.
type packer struct {
	host    string
	ending  []string
	records []Record
}

// next is the name of the record that is written next.
func (p *packer) next() string { return partName(p.host, len(p.records)) }

func partName(host string, n int) string { return fmt.Sprintf("_%d.%s", n, host) }

func (p *packer) write(name string, words []word, ending []string) {
	text := join(words, ending)
	p.records = append(p.records, Record{Name: name, Value: text, LengthBytes: len(text)})
}

// join writes words as one record.
func join(words []word, ending []string) string {
	var b strings.Builder
	b.WriteString(version)
	for _, w := range words {
		b.WriteString(" " + w.String())
	}
	for _, e := range ending {
		b.WriteString(" " + e)
	}
	return b.String()
}

// length is that of [join].
func (p *packer) length(words []word, ending []string) int {
	n := len(version)
	for _, w := range words {
		n += 1 + len(w.String())
	}
	for _, e := range ending {
		n += 1 + len(e)
	}
	return n
}

// A chunk is words with the same sign that fit into one record.
type chunk struct {
	qualifier spf.Qualifier
	words     []word
	inside    int  // bytes that it takes in a record of its own
	inline    bool // it stands in the first record
}

// outside returns the bytes that the chunk takes in the first record.
func (c *chunk) outside() int {
	n := c.inside
	if c.qualifier != spf.QualifierPass {
		n += len(c.words)
	}
	return n
}

// divide cuts words into chunks, in order, each as full as it gets.
func divide(words []word) []*chunk {
	var chunks []*chunk
	for _, w := range words {
		size := 1 + len(w.text)
		n := len(chunks)
		if n == 0 || chunks[n-1].qualifier != w.qualifier || len(version)+chunks[n-1].inside+size > maxLength {
			chunks = append(chunks, &chunk{qualifier: w.qualifier})
			n++
		}
		c := chunks[n-1]
		c.words, c.inside = append(c.words, w), c.inside+size
	}
	return chunks
}

// choose decides which chunks stand in the first record: those that are no longer there than an include of
// them, and then the smallest while there is room, since each saves a look-up.
func (p *packer) choose(chunks []*chunk) {
	room := maxLength - p.length(nil, p.ending)
	for _, c := range chunks {
		c.inline = c.outside() <= p.reference(c)
		room -= min(c.outside(), p.reference(c))
	}
	for {
		var smallest *chunk
		for _, c := range chunks {
			if !c.inline && (smallest == nil || c.outside() < smallest.outside()) {
				smallest = c
			}
		}
		if smallest == nil || smallest.outside()-p.reference(smallest) > room {
			return
		}
		smallest.inline = true
		room -= smallest.outside() - p.reference(smallest)
	}
}

// reference is the length of an include of a chunk, with the blank before it.
func (p *packer) reference(c *chunk) int {
	n := len(" include:") + len(partName(p.host, 1))
	if c.qualifier != spf.QualifierPass {
		n++
	}
	return n
}

// first writes the first record, and its continuations if it does not hold all lines.
func (p *packer) first(lines []word) ([]Record, bool) {
	at, name := 0, p.host
	for p.length(lines, p.ending) > maxLength {
		if len(p.records) == maxRecords {
			return nil, false
		}
		ending := append([]string{"redirect=" + p.next()}, p.exp()...)
		n := 0
		for n < len(lines) && p.length(lines[:n+1], ending) <= maxLength {
			n++
		}
		if n == 0 {
			return nil, false // a single term that is too long
		}
		value := join(lines[:n], ending)
		p.records[at] = Record{Name: name, Value: value, LengthBytes: len(value)}
		at, name, lines = len(p.records), p.next(), lines[n:]
		p.records = append(p.records, Record{})
	}
	value := join(lines, p.ending)
	p.records[at] = Record{Name: name, Value: value, LengthBytes: len(value)}
	return p.records, true
}

// exp returns the modifier exp of the ending: that of the record counts whose term fails (RFC 7208 section
// 6.2), so each record that is not included has it.
func (p *packer) exp() []string {
	for _, e := range p.ending {
		if strings.HasPrefix(e, "exp=") {
			return []string{e}
		}
	}
	return nil
}

// hash returns the SHA-256 of a set of records in hexadecimal.
func hash(records []Record) string {
	h := sha256.New()
	for _, r := range records {
		fmt.Fprintf(h, "%s %s\n", r.Name, r.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}
